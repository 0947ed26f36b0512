/** Every way in which HTML can name another address, each with the address that is to be tried. */
export const referencesTo = (url: string): string => `
  <link rel="stylesheet" href="${url}/link.css">
  <link rel="prefetch" href="${url}/prefetch"><link rel="preload" as="image" href="${url}/preload">
  <link rel="preconnect" href="${url}"><link rel="dns-prefetch" href="${url}"><link rel="prerender" href="${url}/pre">
  <link rel="icon" href="${url}/icon.ico"><link rel="manifest" href="${url}/manifest"><link rel="modulepreload" href="${url}/m.js">
  <link rel="import" href="${url}/import.html"><link rel="alternate stylesheet" href="${url}/alternate.css">
  <style>@import "${url}/import.css"; @import url(${url}/import2.css) print;
    @font-face { font-family: F; src: url(${url}/font.woff2), url("${url}/font.php") }
    body { background: url(${url}/background.png); list-style: url(${url}/list.png); font-family: F, serif }
    p::before { content: url(${url}/content.png) } p { border-image: url(${url}/border.png); mask: url(${url}/mask.svg#m) }
    p { filter: url(${url}/filter.svg#f); clip-path: url(${url}/clip.svg#c); cursor: url(${url}/cursor.cur), auto; shape-outside: url(${url}/shape.png) }
  </style>
  <img src="${url}/img.png"><IMG SRC="${url}/IMG.PNG"><img srcset="${url}/set.png 1x, ${url}/set2.png 2x">
  <img loading="lazy" src="${url}/lazy.png"><picture><source srcset="${url}/picture.png"></picture>
  <input type="image" src="${url}/input.png"><table background="${url}/table.png"><tr><td background="${url}/td.png">cell</td></tr></table>
  <iframe src="${url}/iframe"></iframe><iframe srcdoc="<img src='${url}/srcdoc.png'>"></iframe>
  <frameset><frame src="${url}/frame"></frameset>
  <object data="${url}/object.pdf"></object><embed src="${url}/embed.svg"><applet archive="${url}/applet.jar"></applet>
  <video src="${url}/video.mp4" poster="${url}/poster.png" autoplay></video><audio src="${url}/audio.mp3" autoplay></audio>
  <video><track src="${url}/track.vtt" default><source src="${url}/source.mp4"></video>
  <svg xmlns:xlink="http://www.w3.org/1999/xlink" width="10" height="10"><image href="${url}/svg.png" width="5" height="5"/>
    <IMAGE xlink:href="${url}/xlink.png" width="5" height="5"/><use href="${url}/use.svg#u"/><use xlink:href="${url}/xuse.svg#u"/>
    <style>@import "${url}/svg.css";</style><feImage href="${url}/fe.png"/><script href="${url}/svg.js"/>
    <foreignObject><img src="${url}/foreign.png"></foreignObject></svg>
  <img src="data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="${url}/nested.png" width="9" height="9"/></svg>`)}">
  <script src="${url}/script.js"></script><script>fetch("${url}/fetch"); new WebSocket("${url.replace(/^http/u, 'ws')}/socket");
    new Image().src = "${url}/image"; navigator.sendBeacon("${url}/beacon"); document.body.textContent = "SCRIPT RAN"</script>
  <img src="x" onerror="fetch('${url}/onerror'); document.body.textContent = 'SCRIPT RAN'">
  <body background="${url}/body.png" onload="document.body.textContent = 'SCRIPT RAN'">
  <form action="${url}/form"><button formaction="${url}/button">b</button></form>
  <a href="${url}/link" ping="${url}/ping">link</a>
  <meta http-equiv="refresh" content="0;url=${url}/refresh"><meta http-equiv="Link" content="<${url}/metalink.css>;rel=stylesheet">
  <math href="${url}/math"></math><portal src="${url}/portal"></portal><fencedframe src="${url}/fenced"></fencedframe>`;

import { convertToDocx } from './dist/documents/docx/convert.js';
import { readFileSync, writeFileSync } from 'node:fs';
import sharp from 'sharp';
const png = await sharp({create:{width:200,height:120,channels:3,background:'#3080d0'}}).png().toBuffer();
const html = readFileSync(process.argv[2],'utf8').replaceAll('base64,PNG','base64,'+png.toString('base64'));
const t=performance.now();
const out = await convertToDocx(html, { picture: async u => u.startsWith('data:') ? {type:'png', bytes:png, width:200, height:120} : undefined, sheet: async()=>undefined });
console.log(out.length, Math.round(performance.now()-t));
writeFileSync(process.argv[3], out);

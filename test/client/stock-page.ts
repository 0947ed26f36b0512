import type { Page } from 'puppeteer-core';

/** The demo page as somebody makes it with Jodit alone, after its documentation: without a line of ours. */
const script = `
const { connectorPort } = await (await fetch('/settings.json')).json();
const url = location.protocol + '//' + location.hostname + ':' + connectorPort + '/';
// Otherwise Jodit shows the phrase of a refusal over HTTP/1.1, and not its message.
Jodit.defaultOptions.defaultAjaxOptions.successStatuses.push(400, 401, 403, 404, 405, 409, 413, 422, 500, 501);
const editor = Jodit.make('#editor', {
  minHeight: 460,
  imageDefaultWidth: 420,
  removeButtons: ['ai-commands', 'ai-assistant', 'about'],
  sourceEditor: 'area',
  beautifyHTML: false,
  filebrowser: { ajax: { url }, width: 1030, height: 600 },
  uploader: { url, data: { action: 'fileUpload' } },
});
document.querySelector('#browse').addEventListener('click', () => editor.filebrowser.open());
document.querySelector('#state').className = 'state ready';
`;

/** Lets a page load the demo with stock Jodit. */
export const useStockJodit = async (page: Page): Promise<void> => {
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    if (request.url().endsWith('/page/demo.js'))
      void request.respond({ contentType: 'text/javascript', body: script });
    else void request.continue();
  });
};

/* global Jodit, StowageJodit */
import { downloadDocument } from './documents.js';

const { connectorPort } = await (await fetch('/settings.json')).json();
const connector = `${location.protocol}//${location.hostname}:${connectorPort}/`;

const editor = StowageJodit.connectJodit(
  Jodit,
  '#editor',
  { url: connector, pictures: { srcset: true } },
  {
    minHeight: 460,
    toolbarAdaptive: true,
    toolbarSticky: false,
    imageDefaultWidth: 420,
    showXPathInStatusbar: false,
    removeButtons: ['ai-commands', 'ai-assistant', 'about'],
    // Both would load a library from elsewhere.
    sourceEditor: 'area',
    beautifyHTML: false,
  },
);

const busyWhile = async (button, work) => {
  button.disabled = true;
  button.classList.add('busy');
  try {
    await work();
  } catch (error) {
    editor.message.error(error.message);
  } finally {
    button.disabled = false;
    button.classList.remove('busy');
  }
};

document.querySelector('#browse').addEventListener('click', () => StowageJodit.browseFiles(editor));

for (const button of document.querySelectorAll('[data-action]')) {
  const { action } = button.dataset;
  const settings = action === 'generatePdf' ? { format: 'A4', page_orientation: 'portrait' } : {};
  button.addEventListener('click', () =>
    busyWhile(button, () => downloadDocument({ connector, action, html: editor.value, options: settings })),
  );
}

const state = document.querySelector('#state');
const showState = async () => {
  const ready = await fetch(`${connector}ping`).then(
    async (answer) => (await answer.json()).success,
    () => false,
  );
  state.textContent = ready ? `Connector ready at ${connector}` : `No connector at ${connector}`;
  state.className = ready ? 'state ready' : 'state failed';
};
await showState();

const messageOf = async (answer) => {
  try {
    const { data } = await answer.json();
    if (data.messages.length > 0) return data.messages.join(' ');
  } catch {
    // No envelope: a proxy between page and connector has answered.
  }
  return `The connector answered with status ${answer.status}.`;
};

const save = (blob, name) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The download has its own hold on the bytes as soon as it has begun.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};

/**
 * Lets the connector make a document of some HTML and hands it to the browser as a download. Pictures of its own sources the
 * connector reads by itself.
 *
 * @param {{ connector: string, action: 'generatePdf' | 'generateDocx', html: string, options?: Record<string, string> }} job
 * @throws Error with a message for people
 */
export const downloadDocument = async ({ connector, action, html, options = {} }) => {
  const form = new FormData();
  form.append('html', html);
  for (const [name, value] of Object.entries(options)) form.append(`options[${name}]`, value);
  const answer = await fetch(connector + action, { method: 'POST', body: form }).catch(() => {
    throw new Error('The connector cannot be reached.');
  });
  if (!answer.ok || answer.headers.get('content-type')?.startsWith('application/json')) {
    throw new Error(await messageOf(answer));
  }
  save(await answer.blob(), action === 'generatePdf' ? 'document.pdf' : 'document.docx');
};

const appendTo = (form: FormData, name: string, value: unknown): void => {
  if (value instanceof Blob) form.append(name, value);
  else if (Array.isArray(value)) {
    for (const [index, member] of value.entries()) appendTo(form, `${name}[${String(index)}]`, member);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) appendTo(form, `${name}[${key}]`, member);
  } else if (typeof value === 'string') form.append(name, value);
  else if (typeof value === 'number' || typeof value === 'boolean') form.append(name, String(value));
};

/**
 * Parameters as a multipart form: `{ mods: { limit: 5 } }` as `mods[limit]=5`; what is undefined or null is left out. Files stand
 * last, so that the service knows where they go when they come.
 */
export const toForm = ({ files, ...fields }: Readonly<Record<string, unknown>>): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) appendTo(form, name, value);
  appendTo(form, 'files', files);
  return form;
};

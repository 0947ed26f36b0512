import * as z from 'zod';
import { byteSize, global, setting, source, unused } from './values.ts';

export const pdfSchema = z.strictObject({
  isRemoteEnabled: z
    .boolean()
    .default(true)
    .describe(
      'Load remote images, styles and fonts (public http/https addresses only) in PDF and DOCX; false ' +
        'blocks all.',
    ),
  defaultFont: z.string().default('serif').describe('Accepted for compatibility; ignored.'),
  fontDir: z.string().optional().describe('Accepted for compatibility; ignored.'),
  fontCache: z.string().optional().describe('Accepted for compatibility; ignored.'),
  tempDir: z.string().optional().describe('Accepted for compatibility; ignored.'),
  chroot: z.string().optional().describe('Accepted for compatibility; ignored.'),
  paper: z
    .strictObject({ format: z.string().default('A4'), page_orientation: z.string().default('portrait') })
    .prefault({})
    .describe('Accepted for compatibility; ignored: the page comes from `options[...]` of generatePdf.'),
});

export const documentsSchema = z.strictObject({
  browserSandbox: z
    .enum(['auto', 'required', 'off'])
    .default('auto')
    .describe(
      'Sandbox of the browser that prints PDF files. `auto`: used unless the service runs as root, then ' +
        'with a warning; `required`: PDF files fail without it; `off`: not used, for containers in which ' +
        'the browser cannot create one.',
    ),
});

export const documentsSettings = {
  maxFileSize: setting(
    byteSize.prefault('8mb'),
    source('Maximum size of a remote resource (image, style sheet, font) of a PDF or DOCX file.'),
  ),
  documents: setting(documentsSchema.prefault({}), global('Settings of the programs that create documents.')),
  pdf: setting(pdfSchema.prefault({}), source('Settings of generated documents.')),
  memoryLimit: setting(z.string().default('256M'), unused('memory is bounded by design.')),
} as const;

import { mimeTypeOf } from '../basics/content/file-type.ts';
import type { InspectionVerdict } from '../config/event.ts';
import type { StagedFile } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import type { ChangeContext } from './context.ts';
import type { UploadedFile } from './uploaded-file.ts';

/** What a look at content needs of a request. */
export type InspectionContext = Pick<ChangeContext, 'requester' | 'signal'> & {
  readonly services: Pick<ChangeContext['services'], 'inspector'>;
};

/**
 * Has staged content looked at that is wanted under a path. Undefined: nothing looks at what enters the source.
 * @throws RefusedByInspectionError, InspectionUnavailableError; errors of the host; the signal's reason
 */
export const inspectStaged = (
  { requester: { role, subject }, services, signal }: InspectionContext,
  { source }: SourceView,
  path: SourcePath,
  staged: Pick<StagedFile, 'size' | 'open'>,
): Promise<InspectionVerdict | undefined> => {
  const { name, parent } = path;
  const upload = {
    source: source.name,
    tenant: source.tenant,
    path: parent.isRoot ? '/' : parent.toString(),
    name,
    mime: mimeTypeOf(name),
    bytes: staged.size,
    role,
    subject,
    open: () => staged.open(),
  };
  return services.inspector.inspect(upload, source.settings, signal);
};

/**
 * An uploaded file that has been looked at, as it was sent: once, however often it is asked for. What decodes it
 * earlier than the stage of a change does has it looked at by this. @throws as `inspectStaged`
 */
export const inspected = async (
  context: InspectionContext,
  open: SourceView,
  path: SourcePath,
  file: UploadedFile,
): Promise<UploadedFile> =>
  file.inspection === undefined
    ? { ...file, inspection: await inspectStaged(context, open, path, file.staged) }
    : file;

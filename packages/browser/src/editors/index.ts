/** Uploads and the picker in editors: `stowage/editors`. */
export { ckeditorFiles, type CkeditorFilesOptions } from './ckeditor.ts';
export { connectFiles, type ConnectedFiles, type ConnectOptions } from './connect.ts';
export { froalaFiles, type FroalaFilesOptions } from './froala.ts';
export { pickFiles, pickInto } from '../picker/pick.ts';
export type { PickedFile, PickerOptions } from '../picker/options.ts';
export { tinymceFiles } from './tinymce.ts';
export { createUploader, type Upload, type UploaderOptions, type UploadOptions } from './upload.ts';

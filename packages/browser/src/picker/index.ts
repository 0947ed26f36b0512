export { definePicker, StowagePicker } from './element.ts';
export type { PickedFile, PickerOptions } from './options.ts';
export { pickFiles, pickInto } from './pick.ts';
export { englishTexts, type Texts } from './texts.ts';

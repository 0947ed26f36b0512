import { versioned } from './cell.ts';
import type { Commands, Surroundings } from './commands.ts';
import { CropArea } from './crop-area.ts';
import { button, h, iconButton } from './dom.ts';
import type { Entry, Rights } from './service.ts';
import { fill, type Texts } from './texts.ts';

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Two number fields that preserve the aspect ratio of the picture. */
class SizeFields {
  readonly element: HTMLElement;
  readonly #wide: HTMLInputElement;
  readonly #tall: HTMLInputElement;

  constructor(texts: Texts, { width, height }: Size) {
    const wide = h('input', { type: 'number', min: 1, max: width, value: width });
    const tall = h('input', { type: 'number', min: 1, max: height, value: height });
    const scaled = (value: string, by: number): string => String(Math.max(1, Math.round(Number(value) * by)));
    wide.addEventListener('input', () => (tall.value = scaled(wide.value, height / width)));
    tall.addEventListener('input', () => (wide.value = scaled(tall.value, width / height)));
    this.element = h(
      'div',
      { class: 'fields' },
      h('label', {}, texts.image.width, wide),
      h('label', {}, texts.image.height, tall),
    );
    this.#wide = wide;
    this.#tall = tall;
  }

  get size(): { readonly w: number; readonly h: number } {
    return { w: Math.round(Number(this.#wide.value)), h: Math.round(Number(this.#tall.value)) };
  }
}

type EditorParts = Pick<Surroundings, 'service' | 'dialogs' | 'texts'> & { readonly commands: Commands };

type Mode = 'crop' | 'resize';

/** Crops, scales and rotates one picture. Unchanged values are not sent. */
class ImageEditor {
  readonly #entry: Entry;
  readonly #parts: EditorParts;
  readonly #may: Rights['permissions'];
  readonly #size: Size;
  readonly #crop: CropArea;
  readonly #fields: SizeFields;
  readonly #tabs: readonly HTMLButtonElement[];
  readonly #end: () => void;
  #mode: Mode = 'crop';
  #isSaving = false;

  constructor(entry: Entry & Size, { permissions: may }: Rights, parts: EditorParts, end: () => void) {
    this.#entry = entry;
    this.#parts = parts;
    this.#may = may;
    this.#size = { width: entry.width, height: entry.height };
    this.#end = end;
    const { url = '', name } = entry;
    const src = versioned(url, entry.version);
    this.#crop = new CropArea(parts.texts, h('img', { src, alt: name, draggable: 'false' }), this.#size);
    this.#fields = new SizeFields(parts.texts, this.#size);
    const modes: readonly Mode[] = ['crop', 'resize'];
    this.#tabs = modes
      .filter((mode) => (mode === 'crop' ? may.allowImageCrop : may.allowImageResize) === true)
      .map((mode) => button(parts.texts.image[mode], () => this.#show(mode), { 'data-mode': mode }));
    this.#show(may.allowImageCrop === true ? 'crop' : 'resize');
  }

  /** The content of the dialog. */
  get content(): { readonly body: readonly Node[]; readonly first?: HTMLElement } {
    const { dialogs, texts } = this.#parts;
    const picture = h('div', { class: 'picture-frame', dir: 'ltr' }, this.#crop.element);
    const content = [this.#tools(), picture, this.#crop.fields, this.#fields.element];
    const saveAs = button(texts.image.saveAs, () => void this.#saveAs());
    const form = dialogs.form(content, {
      ...{ action: texts.save, submit: () => void this.#save(), cancel: this.#end },
      ...{ others: this.#may.allowFileUpload === true ? [saveAs] : [], novalidate: true },
    });
    const [first] = this.#tabs;
    return { body: [form], ...(first && { first }) };
  }

  #show(mode: Mode): void {
    this.#mode = mode;
    this.#crop.element.classList.toggle('cropping', mode === 'crop');
    this.#crop.fields.hidden = mode !== 'crop';
    this.#fields.element.hidden = mode !== 'resize';
    for (const tab of this.#tabs) tab.setAttribute('aria-pressed', String(tab.dataset['mode'] === mode));
  }

  #tools(): HTMLElement {
    const { texts, commands } = this.#parts;
    const tools = h('div', { class: 'tools' }, ...this.#tabs);
    if (this.#may.allowImageRotate !== true) return tools;
    const turn = (angle: 90 | 270) => (): void => {
      this.#end();
      void commands.turn(this.#entry, angle);
    };
    tools.append(
      iconButton('turnLeft', texts.turnLeft, turn(270)),
      iconButton('turnRight', texts.turnRight, turn(90)),
    );
    return tools;
  }

  /** The request for the change; undefined without a change. */
  #change(newname: string | undefined): (() => Promise<unknown>) | undefined {
    const { client } = this.#parts.service;
    const { source, path, name } = this.#entry;
    const target = { source, path, name, newname };
    const { box } = this.#crop;
    const size = this.#fields.size;
    const isCrop = this.#mode === 'crop';
    const [wide, tall] = isCrop ? [box.w, box.h] : [size.w, size.h];
    const isSame = wide === this.#size.width && tall === this.#size.height;
    if (isSame && newname === undefined) return undefined;
    return () =>
      isCrop ? client.imageCrop({ ...target, box }) : client.imageResize({ ...target, box: size });
  }

  async #save(newname?: string): Promise<void> {
    const change = this.#change(newname);
    const entry = { ...this.#entry, name: newname ?? this.#entry.name };
    // A second click would crop the result again.
    if (this.#isSaving) return;
    this.#isSaving = true;
    if (change === undefined || (await this.#parts.commands.edit(entry, change))) this.#end();
    this.#isSaving = false;
  }

  async #saveAs(): Promise<void> {
    const { dialogs, texts } = this.#parts;
    const newname = await dialogs.askName(texts.image.saveAs, texts.newName, this.#entry.name);
    if (newname !== undefined) await this.#save(newname);
  }
}

/** Opens the editor for a picture of known size; others cannot be edited. */
export const openImageEditor = async (entry: Entry, rights: Rights, parts: EditorParts): Promise<void> => {
  const { width, height } = entry;
  if (width === undefined || height === undefined) return;
  await parts.dialogs.open<undefined>(
    fill(parts.texts.image.title, { name: entry.name }),
    (end) => new ImageEditor({ ...entry, width, height }, rights, parts, end).content,
    'wide',
  );
};

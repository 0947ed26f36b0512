import { type AboutChange, AboutForm } from './about-form.ts';
import { pixelsOf, versioned } from './cell.ts';
import type { Commands, Surroundings } from './commands.ts';
import { h } from './dom.ts';
import type { Entry, Rights } from './service.ts';
import { humanSize, humanTime } from './texts.ts';

type Facts = readonly (readonly [term: string, value: string | undefined])[];

const listOf = (facts: Facts): HTMLElement => {
  const list = h('dl', {});
  for (const [term, value] of facts)
    if (value !== undefined && value !== '') list.append(h('dt', {}, term), h('dd', { dir: 'auto' }, value));
  return list;
};

const factsOf = (
  { type, source, path, bytes, modified, mime, width, height }: Entry,
  { texts, sources }: Surroundings,
): Facts => {
  const title = sources().find((one) => one.name === source)?.title ?? source;
  return [
    [texts.facts.location, [title, ...path.split('/').filter((part) => part !== '')].join(' / ')],
    [texts.facts.type, type === 'folder' ? texts.folder : mime],
    [texts.facts.dimensions, pixelsOf({ width, height })],
    [texts.facts.size, bytes === undefined ? undefined : humanSize(texts, bytes)],
    [texts.facts.changed, modified === undefined ? undefined : humanTime(texts, modified)],
  ];
};

const wordsOf = ({ about = {} }: Entry, { texts: { about: texts } }: Surroundings): Facts => [
  ...(['alt', 'title', 'caption', 'credit'] as const).map((key) => [texts[key], about[key]] as const),
  [texts.tags, about.tags?.join(', ')],
];

/** Shows all details of an entry, with a large picture. Its description can be edited if permitted. */
export const openDetails = async (
  entry: Entry,
  { permissions }: Rights,
  surroundings: Surroundings,
  commands: Commands,
): Promise<void> => {
  const { dialogs, texts, service, notices } = surroundings;
  const { name, type, url, about = {} } = entry;
  const image = type === 'image' && url !== undefined;
  const stage = image
    ? h('div', { class: 'stage' }, h('img', { src: versioned(url, entry.version), alt: about.alt ?? name }))
    : undefined;
  const picture = stage && h('div', { class: 'picture-frame', dir: 'ltr' }, stage);
  const known = [...(picture === undefined ? [] : [picture]), listOf(factsOf(entry, surroundings))];
  await dialogs.open<undefined>(
    name,
    (end) => {
      if (type === 'folder' || permissions.allowFileDescribe !== true)
        return { body: [...known, listOf(wordsOf(entry, surroundings))] };
      const words = new AboutForm(about, stage, texts);
      const failed = h('p', { role: 'alert', class: 'failure' });
      const save = async (change: AboutChange): Promise<void> => {
        try {
          if (Object.keys(change).length > 0) await commands.describe(entry, change);
          end();
        } catch (error) {
          const message = service.messageOf(error, texts);
          // The input stays in the form, unless the dialog was closed meanwhile.
          if (failed.isConnected) failed.textContent = message;
          else notices.warn(message);
        }
      };
      const [submit, cancel] = [() => void save(words.change), () => end()];
      const form = dialogs.form([...words.fields, failed], { action: texts.save, submit, cancel });
      return { body: [...known, form] };
    },
    'wide',
  );
};

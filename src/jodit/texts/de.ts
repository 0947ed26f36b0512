import type { Texts } from './texts.ts';

/** The texts in German. */
export const german: Texts = {
  locale: 'de',
  direction: 'ltr',
  unreachable:
    'Der Dateidienst ist nicht erreichbar. Prüfen Sie die Verbindung und versuchen Sie es noch einmal.',
  foreignAnswer: 'Der Server antwortete: {reason}',
  noAnswer: 'Der Server gab keine lesbare Antwort.',
  uploading: { one: '{name} wird hochgeladen', other: '{count} Dateien werden hochgeladen' },
  fetching: 'Das Bild wird geholt',
  storing: 'Wird gespeichert …',
  sent: '{sent} von {total}',
  cancel: 'Abbrechen',
  uploadCancelled: 'Das Hochladen wurde abgebrochen. Nichts wurde gespeichert.',
  close: 'Meldung schließen',
  deleteFiles: { one: 'Diese Datei löschen?', other: '{count} Dateien löschen?' },
  deleteFolder: 'Den Ordner „{name}“ mit seinem ganzen Inhalt löschen?',
  andMore: { one: 'und {count} weitere', other: 'und {count} weitere' },
  remove: 'Löschen',
  filesDeleted: { one: '{name} wurde gelöscht.', other: '{count} Dateien wurden gelöscht.' },
  undo: 'Rückgängig',
  restored: { one: '{name} ist wieder da.', other: '{count} Dateien sind wieder da.' },
  folder: 'Aktueller Ordner',
  folders: 'Ordner',
  files: 'Dateien',
  fileBrowser: 'Dateien',
  allSources: 'Alle Quellen',
  parentFolder: 'Übergeordneter Ordner',
  renameFolder: 'Den Ordner {name} umbenennen',
  removeFolder: 'Den Ordner {name} löschen',
};

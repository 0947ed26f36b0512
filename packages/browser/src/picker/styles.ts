import css from './picker.css';

/** Opens a shadow below an element, with the styles of the picker. */
export const styledShadow = (host: HTMLElement): ShadowRoot => {
  const root = host.attachShadow({ mode: 'open', delegatesFocus: true });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];
  return root;
};

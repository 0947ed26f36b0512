import css from './picker.css';

/** Attaches a shadow root with the styles of the picker, or others. */
export const styledShadow = (host: HTMLElement, styles = css): ShadowRoot => {
  const root = host.attachShadow({ mode: 'open' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  root.adoptedStyleSheets = [sheet];
  return root;
};

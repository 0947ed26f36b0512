import type { ElementHandle, Page } from 'puppeteer-core';

/** In the page: the elements of a selector, also those inside of shadow roots. */
const find = (selector: string): Element[] => {
  const roots: ParentNode[] = [document];
  const found: Element[] = [];
  for (const root of roots) {
    found.push(...root.querySelectorAll(selector));
    for (const { shadowRoot } of root.querySelectorAll('*')) if (shadowRoot !== null) roots.push(shadowRoot);
  }
  return found;
};

/**
 * What a function of the page reads of the elements of a selector, in one message to the browser: `>>>` of Puppeteer takes
 * several for each element, which is most of the work of a test that asks again and again.
 */
export const readInShadow = <Value>(
  page: Page,
  selector: string,
  read: (found: Element[]) => Value | Promise<Value>,
): Promise<Value> =>
  page.evaluate(`(${String(read)})((${String(find)})(${JSON.stringify(selector)}))`) as Promise<Value>;

/** The first element of a selector whose `.name` is the given one; without a name simply the first. */
export const firstInShadow = async (
  page: Page,
  selector: string,
  name?: string,
): Promise<ElementHandle<HTMLElement> | undefined> => {
  const isNamed = (element: Element, wanted?: string): boolean =>
    wanted === undefined ||
    element.querySelector('.name')?.textContent.replaceAll(/[\u2066-\u2069]/gu, '') === wanted;
  const handle = await page.evaluateHandle(
    `(${String(find)})(${JSON.stringify(selector)}).find((one) => (${String(isNamed)})(one, ${String(JSON.stringify(name))}))`,
  );
  return (handle.asElement() as ElementHandle<HTMLElement> | null) ?? undefined;
};

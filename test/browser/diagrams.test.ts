// The pictures as a browser shows them: nothing overlaps, nothing runs out of its box, everything
// can be read by day and by night, and Mermaid draws what it was given.

import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { mermaidOf, relationsOf } from '../../machines/mermaid.ts';
import type { Sketch } from '../../machines/sketch.ts';
import { serve, useBrowser } from '../support/pages.ts';
import { namedSketches, pictureOf, wholeSketches } from '../support/sketches.ts';

const browser = useBrowser();

interface Box {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const boxesOf = (page: Page, selector: string): Promise<readonly Box[]> =>
  page.locator(selector).evaluateAll((elements) =>
    elements.map((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      return { text: element.textContent ?? '', left, right, top, bottom };
    }),
  );

const overlap = (a: Box, b: Box) =>
  a.left < b.right - 0.5 &&
  b.left < a.right - 0.5 &&
  a.top < b.bottom - 0.5 &&
  b.top < a.bottom - 0.5;

/** Every two boxes that lie on each other. */
const overlapping = (boxes: readonly Box[]): readonly string[] =>
  boxes.flatMap((a, n) =>
    boxes
      .slice(n + 1)
      .filter((b) => overlap(a, b))
      .map((b) => `${a.text} / ${b.text}`),
  );

async function shown(svg: string, colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
  const page = await browser.page({ colorScheme });
  await page.setContent(`<!doctype html><body style="margin:0">${svg}</body>`);
  return page;
}

/** The lines of a box, and the box itself, as pairs that must lie in each other. */
const outside = (page: Page): Promise<readonly string[]> =>
  page.locator('[data-node], [data-label]').evaluateAll((groups) =>
    groups.flatMap((group) => {
      const outer = group.querySelector('rect')?.getBoundingClientRect();
      return [...group.querySelectorAll('text')]
        .filter((text) => {
          const box = text.getBoundingClientRect();
          return !outer || box.right > outer.right - 4 || box.bottom > outer.bottom - 2;
        })
        .map((text) => text.textContent ?? '');
    }),
  );

/** The contrast of every text with the box that it lies in, by the formula of WCAG 2.2. */
const contrasts = (page: Page): Promise<readonly (readonly [string, number])[]> =>
  page.locator('tspan').evaluateAll((spans) => {
    const luminance = (colour: string) => {
      const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
        const share = Number(part) / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const root = document.querySelector('svg > rect');
    return spans.map((span) => {
      const own = span.closest('[data-node], [data-label]')?.querySelector('rect');
      const fills = [own, root].map((rect) => (rect ? getComputedStyle(rect).fill : 'none'));
      const ground = fills.find((fill) => fill !== 'none') ?? '';
      const pair = [getComputedStyle(span).fill, ground].map(luminance);
      const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
      return [span.textContent ?? '', contrast] as const;
    });
  });

describe.each(namedSketches)('the picture of %s', (_, sketch) => {
  it('has no two texts and no two boxes on each other, and every text in its box', async () => {
    const page = await shown(await pictureOf(sketch));
    const texts = await boxesOf(page, 'text');
    expect(texts.length).toBeGreaterThan(sketch.nodes.length + sketch.arrows.length);
    expect(overlapping(texts)).toEqual([]);
    const nested = sketch.nodes.flatMap(({ parent }) => (parent === undefined ? [] : [parent]));
    const nodes = sketch.nodes.filter(({ id }) => !nested.includes(id));
    const leaves = nodes.map(({ id }) => `[data-node="${id}"]`);
    const boxes = await boxesOf(page, [...leaves, '[data-label]'].join(','));
    expect(boxes.length).toBeGreaterThan(nodes.length);
    expect(overlapping(boxes)).toEqual([]);
    expect(await outside(page)).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('can be read in the %s', async (colorScheme) => {
    const found = await contrasts(await shown(await pictureOf(sketch), colorScheme));
    expect(found.length).toBeGreaterThan(sketch.nodes.length);
    expect(found.filter(([, contrast]) => contrast < 4.5)).toEqual([]);
  });
});

describe('a picture', () => {
  const [[, sketch] = []] = namedSketches;
  if (!sketch) throw new Error('there is no machine');

  const ground = (page: Page) =>
    page.locator('svg > rect').evaluate((rect) => getComputedStyle(rect).fill);

  it.each([
    ['light', 'rgb(255, 255, 255)'],
    ['dark', 'rgb(13, 17, 23)'],
  ] as const)('follows a reader who likes it %s', async (colorScheme, fill) => {
    expect(await ground(await shown(await pictureOf(sketch), colorScheme))).toBe(fill);
  });

  it('is whole, and light, where no style is let through', async () => {
    const svg = await pictureOf(sketch);
    const url = await serve((_, answer) => {
      answer.setHeader('content-type', 'image/svg+xml');
      answer.setHeader('content-security-policy', "default-src 'none'; sandbox");
      answer.end(svg);
    });
    const page = await browser.page({ colorScheme: 'dark' });
    await page.goto(`${url}/outbox.svg`);
    expect(await ground(page)).toBe('rgb(255, 255, 255)');
    const found = await contrasts(page);
    expect(found.filter(([, contrast]) => contrast < 4.5)).toEqual([]);
    expect(overlapping(await boxesOf(page, 'text'))).toEqual([]);
  });

  it('would be seen to overlap', async () => {
    const svg = await pictureOf(sketch);
    const [, first = ''] = /(<text .*?<\/text>)/.exec(svg) ?? [];
    const page = await shown(svg.replace(first, first + first));
    expect(overlapping(await boxesOf(page, 'text'))).toHaveLength(1);
  });
});

describe.each(wholeSketches)('the Mermaid text of %s', (_, sketch: Sketch) => {
  it('is drawn with every label whole, and none on another', async () => {
    const page = await browser.page();
    await page.setContent('<!doctype html><body><pre id="out"></pre></body>');
    const bundle = '../../node_modules/mermaid/dist/mermaid.min.js';
    await page.addScriptTag({ path: fileURLToPath(new URL(bundle, import.meta.url)) });
    const drawn = await page.evaluate(async (text) => {
      const { mermaid } = globalThis as unknown as {
        mermaid: {
          initialize(options: object): void;
          render(id: string, text: string): Promise<{ readonly svg: string }>;
        };
      };
      mermaid.initialize({ startOnLoad: false });
      const { svg } = await mermaid.render('drawing', text);
      document.body.innerHTML = svg;
      return [...document.querySelectorAll('.edgeLabel .label')].map((label) =>
        (label.textContent ?? '').replaceAll(/\s+/g, ' ').trim(),
      );
    }, mermaidOf(sketch));
    const labels = drawn.filter((text) => text !== '');
    expect(labels.toSorted()).toEqual(
      relationsOf(sketch)
        .map(({ label }) => label)
        .toSorted(),
    );
  });
});

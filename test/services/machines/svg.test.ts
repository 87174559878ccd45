// The SVG as a text: the same each time, whole without its style, and with every arrow. How it
// looks is for a browser (test/browser/diagrams.test.ts).

import { describe, expect, it } from 'vitest';
import { svgOf } from '../../../services/machines/svg.ts';
import { namedSketches, pictureOf } from '../../support/sketches.ts';

const all = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, found = '']) => found);

describe.each(namedSketches)('the picture of %s', (_, sketch) => {
  it('is the same each time', async () => {
    expect(await pictureOf(sketch)).toBe(await svgOf(structuredClone(sketch)));
  });

  it('has every status and every arrow, and a wire for each two statuses', async () => {
    const svg = await pictureOf(sketch);
    expect(all(svg, /data-node="([^"]+)"/g).toSorted()).toEqual(
      sketch.nodes.map(({ id }) => id).toSorted(),
    );
    const drawn = all(svg, /data-arrow="([^"]+)"/g).flatMap((ids) => ids.split(' '));
    expect(new Set(drawn)).toEqual(new Set(sketch.arrows.map(({ id }) => id)));
    const wires = [...svg.matchAll(/data-from="([^"]+)" data-to="([^"]+)"/g)].map(([wire]) => wire);
    expect(new Set(wires).size).toBe(wires.length);
  });

  it('is light without its style, and has a dark colour for each of its own', async () => {
    const svg = await pictureOf(sketch);
    const style = all(svg, /<style>(.*?)<\/style>/gs).join('');
    const painted = [...svg.matchAll(/<(?!svg)[^>]* class="([\w-]+)"[^>]*>/g)];
    expect(painted.length).toBeGreaterThan(20);
    for (const [element, name = ''] of painted) {
      expect(element).toMatch(/ (fill|stroke)="/);
      expect(style).toContain(`.${name}{`);
    }
  });

  it('stands alone: no script, no font, nothing from elsewhere', async () => {
    const svg = await pictureOf(sketch);
    expect(svg).not.toMatch(
      /<script|<image|<foreignObject|@import|@font-face|href=|style="| on\w+=/i,
    );
    expect(all(svg, /url\(([^)]*)\)/g).every((target) => target.startsWith('#'))).toBe(true);
    expect(all(svg, /(https?:[^"\s]*)/g)).toEqual(['http://www.w3.org/2000/svg']);
  });
});

describe('a picture', () => {
  it('escapes what people wrote', async () => {
    const [[, sketch] = []] = namedSketches;
    if (!sketch) throw new Error('there is no machine');
    const nodes = sketch.nodes.map((node) => ({ ...node, description: '<b> & "c"' }));
    const svg = await svgOf({ ...sketch, nodes, description: '</title><script>' });
    expect(svg).toContain('&lt;b&gt; &amp; &quot;c&quot;');
    expect(svg).not.toContain('<b>');
    expect(svg).not.toContain('<script>');
  });
});

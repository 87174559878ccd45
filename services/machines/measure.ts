// How wide a text will be at most, without a browser to ask: the picture must come out the same on
// every machine, whatever fonts the reader has.
//
// - The widths are those of DejaVu Sans, the widest of the usual system fonts; in any other a text
//   ends before its box does. Advance widths in thousandths of the font's size.

const groups: readonly (readonly [number, string])[] = [
  [278, "ijl'"],
  [318, ' .,'],
  [352, 'fI!:;|-–()[]/'],
  [411, 'rt'],
  [525, 'szJ“”‘’"'],
  [592, 'vxyckLF?'],
  [636, 'abdeghnopquTZ0123456789+…↻'],
  [700, 'ABCEKPRSUVXYDGNHO'],
  [790, 'Q=<>→'],
  [818, 'w'],
  [990, 'mMW%@'],
];
const widths = new Map(
  groups.flatMap(([width, letters]) => [...letters].map((letter) => [letter, width] as const)),
);
const widest = 1000;
const boldness = 1.12;

export interface Font {
  readonly size: number;
  readonly bold?: boolean;
}

/** The width of one line in pixels, at most. */
export function widthOf(text: string, { size, bold = false }: Font): number {
  const sum = [...text].reduce((total, letter) => total + (widths.get(letter) ?? widest), 0);
  return Math.ceil((sum / 1000) * size * (bold ? boldness : 1));
}

/** Breaks a text between words into lines of at most `most` pixels; a longer word stands alone. */
export function wrapped(text: string, font: Font, most: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    const longer = last === undefined ? word : `${last} ${word}`;
    if (last === undefined || widthOf(longer, font) > most) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

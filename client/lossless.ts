// Whether JSON would bring a content back as it is. What was looked at once is not looked at again:
// contents are never changed in place, so that an edit shares all but a path with the one before.

export type LosslessCheck = (content: unknown) => boolean;

export function losslessCheck(): LosslessCheck {
  const known = new WeakSet<object>();
  const isLossless = (value: unknown): boolean => {
    if (typeof value === 'number') return Number.isFinite(value);
    if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
    if (value === null || known.has(value)) return true;
    const isPlain =
      Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
    if (!isPlain || !Object.values(value).every(isLossless)) return false;
    known.add(value);
    return true;
  };
  // A content that nests too deep for the stack has no text either.
  return (content) => {
    try {
      return isLossless(content);
    } catch {
      return false;
    }
  };
}

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readConfig, variables } from '../../services/config.ts';
import { configurationPage, envExample } from '../../services/config-text.ts';

const committed = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

/** The variables that an example sets, once the signs in front of them are taken away. */
const setBy = (example: string) =>
  Object.fromEntries(
    [...example.matchAll(/^#([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );

describe('the documents of the configuration', () => {
  it('are as committed (else: npm run configuration)', () => {
    expect(committed('docs/configuration.md')).toBe(configurationPage());
    expect(committed('.env.example')).toBe(envExample());
  });

  it('name every variable once', () => {
    const names = Object.keys(variables.shape).toSorted();
    expect(Object.keys(setBy(envExample())).toSorted()).toEqual(names);
    for (const name of names) {
      expect(configurationPage().split(`| \`${name}\` `), name).toHaveLength(2);
    }
  });

  it('set what holds without them', () => {
    expect(readConfig(setBy(envExample()))).toEqual(readConfig({}));
  });
});

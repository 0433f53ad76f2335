import { describe, expect, it } from 'vitest';
import { systemPrompt } from '../../src/core/prompt-sections.ts';

const facts = { dir: '/work/space', git: true, platform: 'linux x64', today: '2026-01-05' };

describe('systemPrompt', () => {
  it('is one text for the same facts, and holds them', () => {
    const prompt = systemPrompt(facts);
    expect(systemPrompt({ ...facts })).toBe(prompt);
    for (const fact of ['/work/space', 'The workspace is a git repository.', 'linux x64', '2026-01-05']) {
      expect(prompt).toContain(fact);
    }
    expect(systemPrompt({ ...facts, git: false })).toContain('is not a git repository');
  });

  it('ends with what was appended, cleaned, and with nothing when that is blank', () => {
    expect(systemPrompt({ ...facts, append: ' Speak\0 French.\n' })).toBe(`${systemPrompt(facts)}\n\nSpeak French.`);
    expect(systemPrompt({ ...facts, append: ' \n' })).toBe(systemPrompt(facts));
  });

  it('is concise', () => {
    expect(systemPrompt(facts).length).toBeLessThan(5_000);
  });
});

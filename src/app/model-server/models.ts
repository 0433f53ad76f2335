/** What the server knows of a model; tokens. */
export interface ServedModel {
  id: string;
  display_name: string;
  max_input_tokens: number;
  max_tokens: number;
}

const KNOWN: ReadonlyArray<readonly [id: string, name: string, maxTokens: number]> = [
  ['claude-haiku-5-5', 'Claude Haiku 5.5', 128_000],
  ['claude-sonnet-5-5', 'Claude Sonnet 5.5', 128_000],
  ['claude-opus-5-5', 'Claude Opus 5.5', 128_000],
  ['claude-fable-5-2', 'Claude Fable 5.2', 128_000],
  ['claude-haiku-4-5', 'Claude Haiku 4.5', 64_000],
];

/** What a script may say of the models. */
export interface ModelLimits {
  models?: readonly string[] | undefined;
  context_window?: number | undefined;
  max_output_tokens?: number | undefined;
}

/** The model of an id with its limits; undefined when it is not served. */
export function findModel(id: string, limits: ModelLimits): ServedModel | undefined {
  const served = limits.models ? limits.models.includes(id) : id.startsWith('claude-');
  if (!served) return undefined;
  const known = KNOWN.find(([name]) => id === name || id.startsWith(`${name}-`));
  return {
    id,
    display_name: known?.[1] ?? id,
    max_input_tokens: limits.context_window ?? 200_000,
    max_tokens: limits.max_output_tokens ?? known?.[2] ?? 128_000,
  };
}

/** A model as the API describes it. */
export function modelInfo({ id, display_name, max_input_tokens, max_tokens }: ServedModel) {
  return {
    type: 'model',
    id,
    display_name,
    max_input_tokens,
    max_tokens,
    created_at: '2026-10-21T00:00:00Z',
    capabilities: null,
    line: null,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
  };
}

/** The list of models, in one page. */
export function modelPage(limits: ModelLimits) {
  const ids = limits.models ?? KNOWN.map(([id]) => id);
  const data = ids.flatMap((id) => findModel(id, limits) ?? []).map(modelInfo);
  return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}

/** Bodies of every shape, and how long work on them takes. */
import { cpuMs } from '../../support/cpu-time.js'

/** About the length of each body. */
const LENGTH = 1_000_000
const many = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length: Math.floor(LENGTH / length) }, (_, index) => make(index))
const nested = (depth: number): unknown =>
  depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { a: nested(depth - 1) }
const repeat = (text: string): string => text.repeat(Math.floor(LENGTH / text.length / 4) * 4)

/** The parts of a message, or of an artifact; `json` is what the body has in place of the text `"@"`. */
export const SHAPES: readonly (readonly [name: string, parts: readonly object[], json?: string])[] = [
  ['one long text', [{ text: repeat('words ') }]],
  ['a text of many alphabets', [{ text: repeat('wörd 字 😀 ') }]],
  ['a text of escapes', [{ text: '@' }], repeat('\\n\\"')],
  ['a text of Unicode escapes', [{ text: '@' }], repeat('\\u00e9\\ud83d\\ude00')],
  ['a text of line ends', [{ text: '@' }], repeat('\\r\\n\\u2028')],
  ['base64', [{ raw: repeat('ab+/') }]],
  ['base64 of URLs', [{ raw: repeat('-_') }]],
  ['base64 of URLs without padding', [{ raw: `${repeat('-_')}-_` }]],
  ['a URL', [{ url: `https://x.test/${repeat('-_./?&=%20')}` }]],
  ['many parts', many(15, () => ({ text: 'x' }))],
  ['many parts of base64 of URLs', many(18, () => ({ raw: '-_-_' }))],
  ['many parts of data', many(20, () => ({ data: { a: 1 } }))],
  ['many small strings', [{ data: many(5, (index) => `${index % 10}`) }]],
  ['many numbers', [{ data: many(4, (index) => index % 100) }]],
  ['long numbers', [{ data: '@' }], `",${'1.2345678901234567e-10,'.repeat(LENGTH / 24)}"`],
  ['a number of many digits', [{ data: ['@'] }], `",${'9'.repeat(300)}.${'9'.repeat(LENGTH)},"`],
  ['many keys', [{ data: Object.fromEntries(many(14, (index) => [`key${index}`, 1])) }]],
  ['keys that are numbers', [{ data: Object.fromEntries(many(9, (index) => [index, 1])) }]],
  ['long keys', [{ data: { [repeat('key')]: 1 } }]],
  ['deep nesting', [{ data: many(200, () => nested(60)) }]],
  ['wide objects', [{ data: many(60, () => ({ a: 1, b: 2, c: 3, d: 4, e: 5 })) }]],
  ['empty objects', [{ data: many(3, () => ({})) }]],
  ['empty lists', [{ data: many(3, () => []) }]],
  ['words and nulls', [{ data: many(6, () => null) }]],
  ['metadata', [{ text: 'x', metadata: { a: many(7, () => ({ b: 1 })) } }]],
]

/** The JSON of `value`, with `json` in place of the text "@". */
export function bodyOf(value: unknown, json = '@'): string {
  return JSON.stringify(value).replace(/"@"/, () =>
    json.startsWith('",') ? `[""${json.slice(1, -1)}""]` : `"${json}"`,
  )
}

/** Below it, the time of `JSON.parse` says little. */
const LEAST_MS = 1

async function fastest(run: () => unknown): Promise<number> {
  let least = Infinity
  for (let attempt = 0; attempt < 3; attempt += 1) least = Math.min(least, await cpuMs(run))
  return least
}

/** How long `JSON.parse` of the body takes, in ms. */
export async function parseMs(body: string): Promise<number> {
  return Math.max(LEAST_MS, await fastest(() => JSON.parse(body)))
}

/** How long the platform takes to read the body from a request, and to answer with the same JSON, in ms. */
export async function exchangeMs(url: string, body: string): Promise<number> {
  const exchange = async (): Promise<void> => {
    const value: unknown = await new Request(url, { method: 'POST', body }).json()
    await Response.json(value).text()
  }
  return Math.max(LEAST_MS, await fastest(exchange))
}

/** How many times as long as `floor` it takes to `run`. Measured again while it is more than `factor`. */
export async function timesAsLong(floor: number, run: () => unknown, factor: number): Promise<number> {
  let least = Infinity
  // A busy machine is slower, and garbage of other tests takes time.
  for (let attempt = 0; attempt < 6 && least > factor * floor; attempt += 1)
    least = Math.min(least, await cpuMs(run))
  return least / floor
}

/** The part as 0.3 has it. */
export function toLegacy(part: { text?: unknown; raw?: unknown; url?: unknown; data?: unknown }): object {
  const { raw, url, ...rest } = part
  if (raw !== undefined) return { kind: 'file', file: { bytes: raw } }
  if (url !== undefined) return { kind: 'file', file: { uri: url } }
  if (part.text !== undefined) return { kind: 'text', ...rest }
  // It has objects only.
  return {
    kind: 'data',
    ...rest,
    data: Array.isArray(rest.data) || typeof rest.data === 'string' ? { a: rest.data } : rest.data,
  }
}

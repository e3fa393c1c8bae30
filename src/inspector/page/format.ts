/**
 * Texts of times, durations, sizes and JSON.
 *
 * @module
 */
export function ago(timestamp: string, now: number): string {
  const ms = now - Date.parse(timestamp)
  if (!(Date.parse(timestamp) > 0)) return '–'
  return ms < 1_500 ? 'now' : `${duration(ms, true)} ago`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

export function duration(ms: number, isRough = false): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  for (const [unit, size] of UNITS) {
    if (ms < size) continue
    const value = ms / size
    return `${value < 10 && !isRough ? value.toFixed(1) : Math.floor(value)} ${unit}`
  }
  return ''
}

export function clockTime(timestamp: string): string {
  const date = new Date(timestamp)
  const two = (value: number): string => String(value).padStart(2, '0')
  const ms = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`
}

/** Made once: it takes much longer than to format with it. */
const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export function dateTime(timestamp: string): string {
  return DATE_TIME.format(new Date(timestamp))
}

export function bytes(count: number): string {
  if (count < 1_024) return `${count} B`
  return count < 1_048_576 ? `${(count / 1_024).toFixed(1)} kB` : `${(count / 1_048_576).toFixed(1)} MB`
}

/** Amounts with their units: `inputTokens 1,200, cost 0.02`. */
export function amountsText(amounts: { readonly [unit: string]: number }): string {
  const text = ([unit, amount]: [string, number]): string =>
    `${unit} ${amount.toLocaleString('en', { maximumFractionDigits: 6 })}`
  return Object.entries(amounts).map(text).join(', ')
}

/** An id that is long is known by its beginning. */
export function shortId(id: string): string {
  return id.length > 12 ? `${id.slice(0, 8)}…` : id
}

/** JSON to read, and the beginning of what is very long. */
export function pretty(value: unknown): string {
  return beginning(JSON.stringify(value, null, 2))
}

const MAX_TEXT = 100_000

/** A text, or the beginning of a very long one. */
export function beginning(text: string): string {
  return text.length > MAX_TEXT
    ? `${text.slice(0, MAX_TEXT)}\n… ${text.length - MAX_TEXT} more characters`
    : text
}

/** The name of a state as a sentence begins with it. */
export function stateName(state: string): string {
  const words = state.replace(/-/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** An owner with a tenant is stored as two lines. */
export function ownerName(owner: string): string {
  const [, tenant, id] = /^\n([^\n]*)\n([^]*)$/.exec(owner) ?? []
  return tenant === undefined ? owner : `${id === undefined || id === '' ? 'anyone' : id} in ${tenant}`
}

/** The text of what was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

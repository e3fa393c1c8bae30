/**
 * The turns of one key: which of them may begin, in which order, and when the others look again. Pure, and JSON.
 *
 * @module
 */
import type { TaskKey } from '../../core/task.js'
import { hashOf } from '../../runtime/hash.js'

/** A turn that has begun. It counts for as long as its task has this lease. */
interface Holder extends TaskKey {
  readonly leaseId: string
}

/** A turn that waits. */
export interface Waiter extends TaskKey {
  /** From when it counts, in ms since 1970: the earlier, the sooner it begins. */
  readonly since: number
  /** When it was told that it may begin, in ms since 1970. 0 where it was not. */
  readonly toldAt: number
}

export interface Slots {
  readonly held: readonly Holder[]
  /** In their order. */
  readonly waiting: readonly Waiter[]
  /** When turns have begun, in ms since 1970, in order. */
  readonly starts: readonly number[]
}

export interface Bounds {
  /** How many may be under way. */
  readonly max: number
  /** How many may begin within a time. */
  readonly rate?: { readonly max: number; readonly perMs: number } | undefined
}

export const NO_SLOTS: Slots = { held: [], waiting: [], starts: [] }

/** Further turns that wait are not listed: they look again after a time. */
export const MAX_WAITING = 500
/** For how long those behind wait for a turn that was told to begin, in ms. */
const TOLD_MS = 10_000
/** How often the first of those that wait look, in ms, in case nobody has told them. */
const LOOK_MS = 30_000
const MAX_LOOK_MS = 600_000

/** What becomes of a turn that would begin. */
export interface Entered {
  readonly slots: Slots
  /** When it looks again, in ms from now. 0 for one that begins. */
  readonly waitMs: number
  /** Those that have begun, if this turn comes next and waits for one of them to end. */
  readonly before: readonly Holder[]
}

export function isEmpty({ held, waiting, starts }: Slots): boolean {
  return held.length + waiting.length + starts.length === 0
}

/** Without what does not count any more: turns that were told and have not come, and starts that are too long ago. */
export function tidied({ held, waiting, starts }: Slots, { rate }: Bounds, now: number): Slots {
  return {
    held,
    // A clock may be wrong either way.
    waiting: waiting.filter(({ toldAt }) => toldAt === 0 || Math.abs(now - toldAt) < TOLD_MS),
    starts: rate === undefined ? [] : starts.filter((at) => Math.abs(now - at) < rate.perMs),
  }
}

/** Tells those that may begin now. */
export function told(
  slots: Slots,
  bounds: Bounds,
  now: number,
): { readonly slots: Slots; readonly news: readonly Waiter[] } {
  const news = slots.waiting.slice(0, roomIn(slots, bounds)).filter(({ toldAt }) => toldAt === 0)
  const waiting = slots.waiting.map((each) => (news.includes(each) ? { ...each, toldAt: now } : each))
  return { slots: { ...slots, waiting }, news }
}

/** A turn would begin, in its order. */
export function entered(
  given: Slots,
  { leaseId, ...turn }: Omit<Waiter, 'toldAt'> & { readonly leaseId: string },
  bounds: Bounds,
  now: number,
): Entered {
  const slots = tidied(given, bounds, now)
  const { held, starts } = slots
  const { id, createdAt } = turn
  const holder = { id, createdAt, leaseId }
  const place = given.waiting.findIndex((each) => each.id === id)
  const known = given.waiting[place]
  const others = slots.waiting.filter((each) => each.id !== id)
  // A process that has died had begun it: it goes on with its slot.
  if (held.some((each) => each.id === id)) {
    const kept = held.map((each) => (each.id === id ? holder : each))
    return { slots: { ...slots, held: kept, waiting: others }, waitMs: 0, before: [] }
  }
  const waiter = { ...turn, since: known?.since ?? turn.since, toldAt: 0 }
  const earlier = new Set(given.waiting.slice(0, Math.max(0, place)))
  const isAhead = (each: Waiter): boolean =>
    known === undefined ? each.since <= waiter.since : earlier.has(each)
  const ahead = others.filter(isAhead).length
  if (ahead < roomIn(slots, bounds)) {
    const began = bounds.rate === undefined ? [] : [...starts, now].sort((a, b) => a - b)
    return { slots: { held: [...held, holder], waiting: others, starts: began }, waitMs: 0, before: [] }
  }
  const isListed = known !== undefined || others.length < MAX_WAITING
  const waiting = isListed ? [...others.slice(0, ahead), waiter, ...others.slice(ahead)] : others
  const isNext = known !== undefined && ahead === 0 && held.length >= bounds.max
  return {
    slots: { ...slots, waiting },
    waitMs: isListed ? waitMs(slots, ahead, bounds, now) : unlistedMs(id),
    before: isNext ? held : [],
  }
}

/** Without turns that are over, by the leases under which they were begun. */
export function freed(slots: Slots, leaseIds: readonly string[]): Slots {
  return { ...slots, held: slots.held.filter(({ leaseId }) => !leaseIds.includes(leaseId)) }
}

/** Without turns that do not wait any more. */
export function forgotten(slots: Slots, ids: readonly string[]): Slots {
  return { ...slots, waiting: slots.waiting.filter(({ id }) => !ids.includes(id)) }
}

/** A turn was told while it was not yet ready to hear it. */
export function untold(slots: Slots, { id }: TaskKey): Slots {
  return {
    ...slots,
    waiting: slots.waiting.map((each) => (each.id === id ? { ...each, toldAt: 0 } : each)),
  }
}

/** How many more turns may begin now. */
function roomIn({ held, starts }: Slots, { max, rate }: Bounds): number {
  const begins = rate === undefined ? Infinity : rate.max - starts.length
  return Math.max(0, Math.min(max - held.length, begins))
}

/** @param ahead - How many others come first. */
function waitMs(slots: Slots, ahead: number, bounds: Bounds, now: number): number {
  const { max, rate } = bounds
  const isRated = rate !== undefined && ahead < max - slots.held.length
  // Turns that end tell the next ones, so those behind look less often.
  const lookMs = (roomIn(slots, bounds) > 0 ? TOLD_MS : LOOK_MS) * (1 + Math.floor(ahead / max))
  const ms = isRated ? startAfter(slots.starts, ahead, rate, now) - now : lookMs
  return Math.min(MAX_LOOK_MS, Math.max(1, Math.ceil(ms)))
}

/** When a turn may begin that has so many others ahead of it, by the rate. In ms since 1970. */
function startAfter(
  starts: readonly number[],
  ahead: number,
  { max, perMs }: NonNullable<Bounds['rate']>,
  now: number,
): number {
  // Each start is so long after the one that was `max` before it. Those that are missing may be now.
  const nth = starts.length + ahead - max
  const rounds = Math.max(0, Math.floor((nth - starts.length) / max) + 1)
  return (starts[nth - rounds * max] ?? now - perMs) + (rounds + 1) * perMs
}

/** Not all at once. */
function unlistedMs(id: string): number {
  const share = parseInt(hashOf(id).slice(0, 8), 16) / 2 ** 32
  return Math.round(LOOK_MS * 2 * (1 + share))
}

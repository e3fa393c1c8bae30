/**
 * The tasks of a list by their latest change, for pages.
 *
 * @module
 */
import { byText } from './queries.js'
import type { Chain, Link, Millisecond, TaskRecord } from './task-record.js'

/**
 * The tasks of a list from `link`, the last one of its millisecond, to the beginning. Those of one millisecond are in the
 * order of their changes in the list.
 */
export function* latestFirst<S extends string>(
  chain: Chain<S>,
  link: Link<S> | undefined,
): Generator<TaskRecord<S>> {
  while (link !== undefined) {
    const { record, updatedAt, previous }: Link<S> = link
    if (previous?.updatedAt === updatedAt) {
      const { records, before } = millisecondOf(chain, link)
      yield* records
      link = before
    } else {
      yield record
      link = previous
    }
  }
}

/** How many sorted milliseconds a list keeps. A page often has tasks of two. */
const MAX_SORTED = 8

/** The tasks of a millisecond by their ids. Pages of a list that does not change sort them once. */
function millisecondOf<S extends string>(chain: Chain<S>, last: Link<S>): Millisecond<S> {
  const { updatedAt } = last
  const known = chain.sorted?.get(updatedAt)
  if (known !== undefined) return known
  const records: TaskRecord<S>[] = []
  let link: Link<S> | undefined = last
  for (; link?.updatedAt === updatedAt; link = link.previous) records.push(link.record)
  records.sort((a, b) => byText(b.head.id, a.head.id))
  const sorted = { records, before: link }
  if (chain.sorted === undefined || chain.sorted.size === MAX_SORTED) chain.sorted = new Map()
  chain.sorted.set(updatedAt, sorted)
  return sorted
}

/**
 * The list of tasks as it is loaded: pages by cursor, live changes, and counts.
 *
 * @module
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { searchedIn, type Summary } from '../../summary.js'
import { api, type ListChange } from '../api.js'
import type { Live } from '../live.js'
import { messageOf } from '../format.js'

export interface Filter {
  readonly text: string
  readonly state: string
  readonly context: string
  readonly owner: string
  readonly skill: string
  /** The age of the oldest change that is shown, in ms; 0 for any. */
  readonly ageMs: number
}

export const NO_FILTER: Filter = { text: '', state: '', context: '', owner: '', skill: '', ageMs: 0 }

export interface ListState {
  readonly rows: readonly Summary[]
  readonly counts: Readonly<Record<string, number>> | null
  readonly isLoading: boolean
  readonly hasMore: boolean
  readonly failure: string
  readonly loadMore: () => void
  /** How many tasks wait until the reader is at the top, so that the list does not move; `Infinity` for more than are kept. */
  readonly waiting: number
  /** Tells whether the reader is at the top. */
  readonly setAtTop: (isAtTop: boolean) => void
}

const COUNT_MS = 1_000
/** With more tasks waiting, the list is read again. */
const MAX_WAITING = 500
/** The most changes that are kept while the list is read again. */
const MAX_LATE = 100

interface Loaded {
  readonly rows: readonly Summary[]
  readonly cursor: string | undefined
  readonly hasMore: boolean
}
const NOTHING: Loaded = { rows: [], cursor: undefined, hasMore: true }

/** The pages of the list so far. */
interface Pages {
  readonly current: () => Loaded
  readonly put: (loaded: Loaded) => void
  /** Keeps a change that comes while the list is read again, which may have been read before it. */
  readonly keep: (change: TaskChanges) => void
  readonly loadMore: () => void
  readonly reload: () => void
  readonly isLoading: boolean
  readonly failure: string
}

export function useList(filter: Filter, live: Live): ListState {
  const pages = usePages(filter)
  const { rows, hasMore } = pages.current()
  const { waiting, setAtTop } = useArrivals(filter, live, pages)
  const counts = useCounts(filter, live)
  const { isLoading, failure, loadMore } = pages
  return { rows, counts, isLoading, hasMore, failure, loadMore, waiting, setAtTop }
}

function usePages(filter: Filter): Pages {
  const loaded = useRef(NOTHING)
  const [, setVersion] = useState(0)
  const [isLoading, setLoading] = useState(true)
  const [failure, setFailure] = useState('')
  const controller = useRef(new AbortController())
  const isBusy = useRef(false)
  const late = useRef<TaskChanges[]>([])
  const keep = (change: TaskChanges): void => {
    if (isBusy.current && late.current.length < MAX_LATE) late.current.push(change)
  }
  const put = (next: Loaded): void => {
    if (next === loaded.current) return
    loaded.current = next
    setVersion((before) => before + 1)
  }
  const load = (after: Loaded): void => {
    const { signal } = controller.current
    isBusy.current = true
    late.current = []
    setLoading(true)
    api
      .list(queryOf(filter, after.cursor), signal)
      .then(({ tasks, nextCursor }) => {
        setFailure('')
        const rows =
          after === NOTHING
            ? late.current.reduce((read, change) => withAll(read, change, filter), tasks)
            : merged(loaded.current.rows, tasks)
        put({ rows, cursor: nextCursor, hasMore: nextCursor !== undefined })
      })
      .catch((error: unknown) => {
        if (!signal.aborted) setFailure(messageOf(error))
      })
      .finally(() => {
        if (signal.aborted) return
        isBusy.current = false
        setLoading(false)
      })
  }
  const reload = (): void => {
    controller.current.abort()
    controller.current = new AbortController()
    load(NOTHING)
  }
  useEffect(() => {
    reload()
    return () => controller.current.abort()
  }, [filter])
  const { rows, hasMore } = loaded.current
  const loadMore = (): void => {
    if (!isBusy.current && failure === '' && hasMore && rows.length > 0) load(loaded.current)
  }
  // A search may find nothing in the tasks that one request reads.
  useEffect(() => {
    if (!isLoading && hasMore && rows.length < 20 && failure === '') load(loaded.current)
  }, [isLoading])
  return { current: () => loaded.current, put, keep, loadMore, reload, isLoading, failure }
}

/** Live changes. New tasks wait until the reader is at the top of the list, so that it does not move. */
function useArrivals(filter: Filter, live: Live, pages: Pages): Pick<ListState, 'waiting' | 'setAtTop'> {
  const isAtTop = useRef(true)
  const tasks = useRef(new Map<string, Summary>())
  const [waiting, setWaiting] = useState(0)
  const count = useRef(0)
  const setCount = (next: number): void => {
    count.current = next
    if (next === 0 || next === Infinity) tasks.current.clear()
    setWaiting(next)
  }
  const apply = (change: TaskChanges): void => {
    pages.keep(change)
    const before = pages.current()
    const { rows, added } = withChanges(before.rows, change, filter)
    const shown = isAtTop.current && added.length > 0 ? [...added, ...rows] : rows
    pages.put(shown === before.rows ? before : { ...before, rows: shown })
    if (isAtTop.current || count.current === Infinity) return
    for (const task of added) tasks.current.set(task.id, task)
    for (const id of change.removed) tasks.current.delete(id)
    const { size } = tasks.current
    setCount(size > MAX_WAITING ? Infinity : size)
  }
  const reload = (): void => {
    setCount(0)
    pages.reload()
  }
  useEffect(() => {
    setCount(0)
    return live.listen((change: ListChange) => {
      if (change.type === 'tasks') apply(change)
      else if (change.type === 'resync' && isAtTop.current) reload()
      else if (change.type === 'resync') setCount(Infinity)
    })
  }, [filter])
  const setAtTop = (isTop: boolean): void => {
    isAtTop.current = isTop
    if (!isTop || count.current === 0) return
    if (count.current === Infinity) {
      reload()
      return
    }
    const arrived = [...tasks.current.values()]
    setCount(0)
    apply({ type: 'tasks', tasks: arrived, removed: [] })
  }
  return { waiting, setAtTop }
}

/** The tasks that a filter selects. */
export function selectionOf(filter: Filter): Readonly<Record<string, string | undefined>> {
  return { ...commonQuery(filter), text: filter.text, state: filter.state }
}

function queryOf(filter: Filter, cursor: string | undefined): Readonly<Record<string, string | undefined>> {
  return { ...selectionOf(filter), cursor }
}

function commonQuery({ context, owner, skill, ageMs }: Filter): Readonly<Record<string, string | undefined>> {
  const since = ageMs === 0 ? undefined : new Date(Date.now() - ageMs).toISOString()
  return { context, owner, skill, since }
}

/** Rows that a live change has added are not repeated. */
function merged(before: readonly Summary[], tasks: readonly Summary[]): readonly Summary[] {
  const known = new Set(before.map(({ id }) => id))
  return [...before, ...tasks.filter(({ id }) => !known.has(id))]
}

type TaskChanges = Extract<ListChange, { type: 'tasks' }>

/** Changed rows stay in their places, so that the list does not move under the reader. `added` are new ones. */
function withChanges(
  rows: readonly Summary[],
  { tasks, removed }: TaskChanges,
  filter: Filter,
): { readonly rows: readonly Summary[]; readonly added: readonly Summary[] } {
  const changed = new Map(tasks.map((task) => [task.id, task]))
  const gone = new Set(removed)
  let isSame = true
  const kept: Summary[] = []
  for (const row of rows) {
    const known = changed.get(row.id)
    changed.delete(row.id)
    const isNewer =
      known !== undefined && (known.generation > row.generation || known.createdAt !== row.createdAt)
    const next = isNewer ? known : undefined
    isSame &&= next === undefined && !gone.has(row.id)
    if (!gone.has(row.id) && (next === undefined || isShown(next, filter))) kept.push(next ?? row)
  }
  const added = [...changed.values()].filter((task) => isShown(task, filter))
  return { rows: isSame ? rows : kept, added }
}

function withAll(rows: readonly Summary[], change: TaskChanges, filter: Filter): readonly Summary[] {
  const changed = withChanges(rows, change, filter)
  return [...changed.added, ...changed.rows]
}

function isShown(task: Summary, { text, state, context, owner, skill }: Filter): boolean {
  if (state !== '' && task.state !== state) return false
  if (context !== '' && task.contextId !== context) return false
  if (owner !== '' && task.owner !== owner) return false
  if (skill !== '' && task.skill !== skill) return false
  return searchedIn(task).includes(text.toLowerCase())
}

/** Counted again after changes, at most once a second. */
function useCounts(filter: Filter, live: Live): Readonly<Record<string, number>> | null {
  const [counts, setCounts] = useState<Readonly<Record<string, number>> | null>(null)
  const { context, owner, skill, ageMs } = filter
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const count = (): void => {
      timer = undefined
      api.counts(commonQuery(filter)).then(setCounts, () => undefined)
    }
    count()
    const stop = live.listen(() => {
      timer ??= setTimeout(count, COUNT_MS)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [context, owner, skill, ageMs])
  return counts
}

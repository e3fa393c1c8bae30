/**
 * The list of tasks as it is loaded: pages by cursor, live changes, and counts.
 *
 * @module
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Summary } from '../../summary.js'
import { api, type ListChange } from '../api.js'
import type { Live } from '../live.js'

export interface Filter {
  readonly text: string
  readonly state: string
  readonly context: string
  readonly owner: string
  readonly skill: string
  /** The age of the oldest change that is shown, in ms; 0 for any. */
  readonly ageMs: number
  readonly hasFailuresFirst: boolean
}

export const NO_FILTER: Filter = {
  ...{ text: '', state: '', context: '', owner: '', skill: '', ageMs: 0 },
  hasFailuresFirst: true,
}

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

interface Loaded {
  readonly rows: readonly Summary[]
  readonly cursor: string | undefined
  readonly hasMore: boolean
}
const NOTHING: Loaded = { rows: [], cursor: undefined, hasMore: true }

export function useList(filter: Filter, live: Live): ListState {
  const [loaded, setLoaded] = useState<Loaded>(NOTHING)
  const [isLoading, setLoading] = useState(true)
  const [failure, setFailure] = useState('')
  const controller = useRef(new AbortController())
  const isBusy = useRef(false)
  const isAtTop = useRef(true)
  const waiting = useRef<Map<string, Summary>>(new Map())
  const [waitingCount, setWaitingCount] = useState(0)

  const load = (after: Loaded): void => {
    const { signal } = controller.current
    isBusy.current = true
    setLoading(true)
    api
      .list(queryOf(filter, after.cursor), signal)
      .then(({ tasks, nextCursor }) => {
        setFailure('')
        setLoaded({
          rows: merged(after.rows, tasks),
          cursor: nextCursor,
          hasMore: nextCursor !== undefined,
        })
      })
      .catch((error: unknown) => {
        if (!signal.aborted) setFailure(error instanceof Error ? error.message : String(error))
      })
      .finally(() => {
        if (signal.aborted) return
        isBusy.current = false
        setLoading(false)
      })
  }
  const reload = (): void => {
    waiting.current.clear()
    setWaitingCount(0)
    controller.current.abort()
    controller.current = new AbortController()
    load(NOTHING)
  }
  useEffect(() => {
    reload()
    return () => controller.current.abort()
  }, [filter])
  useEffect(
    () =>
      live.listen((change: ListChange) => {
        if (change.type === 'resync') {
          if (isAtTop.current) reload()
          else setWaitingCount(Infinity)
        } else if (change.type === 'tasks') apply(change)
      }),
    [filter],
  )
  const apply = (change: TaskChanges): void =>
    setLoaded((before) => {
      const { rows, added } = withChanges(before.rows, change, filter)
      if (isAtTop.current) return { ...before, rows: withNew(rows, added, filter) }
      for (const task of added) waiting.current.set(task.id, task)
      for (const id of change.removed) waiting.current.delete(id)
      const { size } = waiting.current
      setWaitingCount((count) => (count > MAX_WAITING || size > MAX_WAITING ? Infinity : size))
      if (size > MAX_WAITING) waiting.current.clear()
      return rows === before.rows ? before : { ...before, rows }
    })
  const setAtTop = (isTop: boolean): void => {
    isAtTop.current = isTop
    if (!isTop || waitingCount === 0) return
    if (waitingCount === Infinity) return reload()
    const tasks = [...waiting.current.values()]
    waiting.current.clear()
    setWaitingCount(0)
    apply({ type: 'tasks', tasks, removed: [] })
  }
  const loadMore = (): void => {
    if (!isBusy.current && failure === '' && loaded.hasMore && loaded.rows.length > 0) load(loaded)
  }
  // A search may find nothing in the tasks that one request reads.
  useEffect(() => {
    if (!isLoading && loaded.hasMore && loaded.rows.length < 20 && failure === '') load(loaded)
  }, [isLoading])
  const counts = useCounts(filter, live)
  const { rows, hasMore } = loaded
  return { rows, counts, isLoading, hasMore, failure, loadMore, waiting: waitingCount, setAtTop }
}

/** The tasks that a filter selects. */
export function selectionOf(filter: Filter): Readonly<Record<string, string | undefined>> {
  return { ...commonQuery(filter), text: filter.text, state: filter.state }
}

function queryOf(filter: Filter, cursor: string | undefined): Readonly<Record<string, string | undefined>> {
  return { ...selectionOf(filter), order: orderOf(filter), cursor }
}

function commonQuery({ context, owner, skill, ageMs }: Filter): Readonly<Record<string, string | undefined>> {
  const since = ageMs === 0 ? undefined : new Date(Date.now() - ageMs).toISOString()
  return { context, owner, skill, since }
}

function orderOf({ hasFailuresFirst }: Filter): string | undefined {
  return hasFailuresFirst ? 'failures' : undefined
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
    const next = changed.get(row.id)
    changed.delete(row.id)
    isSame &&= next === undefined && !gone.has(row.id)
    if (!gone.has(row.id) && (next === undefined || isShown(next, filter))) kept.push(next ?? row)
  }
  const added = [...changed.values()].filter((task) => isShown(task, filter))
  return { rows: isSame ? rows : kept, added }
}

/** New rows come first. */
function withNew(rows: readonly Summary[], added: readonly Summary[], filter: Filter): readonly Summary[] {
  if (added.length === 0) return rows
  if (!filter.hasFailuresFirst || filter.state !== '') return [...added, ...rows]
  const isFailed = ({ state }: Summary): boolean => state === 'failed'
  const all = [...added, ...rows]
  return [...all.filter(isFailed), ...all.filter((row) => !isFailed(row))]
}

function isShown(task: Summary, { text, state, context, owner, skill }: Filter): boolean {
  if (state !== '' && task.state !== state) return false
  if (context !== '' && task.contextId !== context) return false
  if (owner !== '' && task.owner !== owner) return false
  if (skill !== '' && task.skill !== skill) return false
  if (text === '') return true
  const { id, contextId, title, note } = task
  const fields = [id, contextId, task.skill, task.owner ?? '', title, note]
  return fields.some((field) => field.toLowerCase().includes(text.toLowerCase()))
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

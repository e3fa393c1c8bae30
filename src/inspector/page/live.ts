/**
 * Live changes: those of all tasks, and the log of one.
 *
 * @module
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Details, type ListChange, type Session } from './api.js'
import { readWhileVisible } from './reading.js'
import { TaskLog } from './task/log.js'
import { messageOf } from './format.js'

export interface Live {
  readonly isLive: boolean
  /** The number of changed tasks in each of the latest periods, oldest first. */
  readonly load: readonly number[]
  /** Calls the listener for each change until the returned function is called. */
  readonly listen: (listener: (change: ListChange) => void) => () => void
}

const PERIODS = 40
const PERIOD_MS = 1_500

export function useChanges(): Live {
  const listeners = useRef(new Set<(change: ListChange) => void>())
  const [isLive, setLive] = useState(true)
  const [load, setLoad] = useState<readonly number[]>(() => Array<number>(PERIODS).fill(0))
  useEffect(() => {
    const controller = new AbortController()
    let changed = 0
    const timer = setInterval(() => {
      const count = changed
      changed = 0
      setLoad((before) =>
        count === 0 && before.every((each) => each === 0) ? before : [...before.slice(1), count],
      )
    }, PERIOD_MS)
    const read = async (signal: AbortSignal): Promise<void> => {
      let isFirst = true
      const tell = (change: ListChange): void => listeners.current.forEach((listener) => listener(change))
      for await (const change of api.changes(signal)) {
        if (change.type === 'error') throw new Error(change.message)
        if (change.type === 'tasks') changed += change.tasks.length
        if (isFirst) setLive(true)
        isFirst = false
        tell(change)
      }
    }
    void readWhileVisible(controller.signal, read, setLive)
    return () => {
      clearInterval(timer)
      controller.abort()
    }
  }, [])
  const listen = (listener: (change: ListChange) => void): (() => void) => {
    listeners.current.add(listener)
    return () => listeners.current.delete(listener)
  }
  return { isLive, load, listen }
}

export interface LiveTask {
  readonly details: Details | undefined
  readonly log: TaskLog
  /** Changes with each entry of the log. */
  readonly version: number
  readonly failure: string
}

/** The log of a task, from its first entry that is held to its end. */
export function useTask(id: string, { lifecycle }: Session): LiveTask {
  const log = useRef(new TaskLog())
  const [details, setDetails] = useState<Details>()
  const [version, setVersion] = useState(0)
  const [failure, setFailure] = useState('')
  useEffect(() => {
    const controller = new AbortController()
    log.current = new TaskLog()
    const update = (): void => setVersion((before) => before + 1)
    const loadDetails = async (): Promise<void> => setDetails(await api.details(id))
    const read = async (signal: AbortSignal): Promise<void> => {
      await loadDetails()
      await readLog(id, log.current)
      update()
      let pending = 0
      for await (const entry of api.follow(id, log.current.generation, signal)) {
        if (entry.type === 'error') throw new Error(entry.message)
        log.current.add(entry)
        pending ||= requestAnimationFrame(() => {
          pending = 0
          update()
        })
      }
      update()
      await loadDetails()
      // Otherwise the server has ended the stream. A task that has ended does not change.
      if (lifecycle.terminal.includes(log.current.latest?.state ?? '')) controller.abort()
    }
    const guarded = (reading: AbortSignal): Promise<void> =>
      read(reading).catch((error: unknown) => {
        if (!reading.aborted) setFailure(messageOf(error))
        throw error
      })
    void readWhileVisible(controller.signal, guarded, () => undefined)
    return () => controller.abort()
  }, [id])
  return { details, log: log.current, version, failure }
}

async function readLog(id: string, log: TaskLog): Promise<void> {
  for (;;) {
    const { events, next } = await api.events(id, log.generation)
    for (const event of events) log.add(event)
    if (next === undefined || events.length === 0) return
  }
}

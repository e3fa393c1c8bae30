/**
 * Rows that the server has, read again and again while the page is visible.
 *
 * @module
 */
import { useEffect, useState } from 'preact/hooks'
import { messageOf } from './format.js'

interface Polled<T> {
  /** `undefined` until they are read. */
  readonly rows: readonly T[] | undefined
  readonly setRows: (rows: readonly T[]) => void
  /** Why the latest read has failed; empty if it has not. */
  readonly failure: string
}

/** @param read - The same function at each call. */
export function usePolled<T>(read: () => Promise<readonly T[]>, everyMs: number): Polled<T> {
  const [rows, setRows] = useState<readonly T[]>()
  const [failure, setFailure] = useState('')
  useEffect(() => {
    const look = (): void => {
      if (document.hidden) return
      read().then(
        (next) => {
          setRows(next)
          setFailure('')
        },
        (error: unknown) => setFailure(messageOf(error)),
      )
    }
    look()
    const timer = setInterval(look, everyMs)
    return () => clearInterval(timer)
  }, [read, everyMs])
  return { rows, setRows, failure }
}

/**
 * Line of the turns that wait and that are under way.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Backlog } from '../../../core/managers.js'
import { api } from '../api.js'
import { duration } from '../format.js'

const READ_MS = 5_000

/** One line; nothing where it is not known. */
export function Workers(): VNode | null {
  const [backlog, setBacklog] = useState<Backlog | null>(null)
  useEffect(() => {
    const read = (): unknown => !document.hidden && api.backlog().then(setBacklog, () => undefined)
    read()
    const timer = setInterval(read, READ_MS)
    return () => clearInterval(timer)
  }, [])
  if (backlog === null) return null
  const { waiting, oldestMs, busy } = backlog
  const oldest = oldestMs > 0 ? `, the first for ${duration(oldestMs, true)}` : ''
  return html`<p class="workers quiet" role="group" aria-label="Workers">
    ${`Turns: ${waiting.toLocaleString('en')} wait for a process${oldest} · ${busy.toLocaleString('en')} under way`}
  </p>`
}

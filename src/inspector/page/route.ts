/**
 * The route of the page, in the fragment of its URL: `#/`, `#/t/ID`, `#/t/ID/GENERATION`, `#/agent`, `#/gateway`, `#/schedules`.
 *
 * @module
 */
import { useEffect, useState } from 'preact/hooks'

export interface Route {
  readonly name: 'tasks' | 'agent' | 'gateway' | 'schedules'
  readonly taskId?: string
  /** The generation that is shown; the latest where there is none. */
  readonly generation?: number
}

function readRoute(hash: string): Route {
  const [, first, id, generation] = /^#\/(\w*)(?:\/([^/]+))?(?:\/(\d+))?/.exec(hash) ?? []
  if (first === 'agent' || first === 'gateway' || first === 'schedules') return { name: first }
  if (first !== 't' || id === undefined) return { name: 'tasks' }
  const taskId = decoded(id)
  return { name: 'tasks', taskId, ...(generation !== undefined && { generation: Number(generation) }) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function taskHref(taskId: string, generation?: number): string {
  return `#/t/${encodeURIComponent(taskId)}${generation === undefined ? '' : `/${generation}`}`
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const onChange = (): void => setHash(location.hash)
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return readRoute(hash)
}

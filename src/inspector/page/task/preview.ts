/**
 * The beginning of what an event says.
 *
 * @module
 */
import { textOf } from '../../../wire/text.js'
import { statusText } from '../../summary.js'
import type { Entry } from './log.js'

const MAX = 160

export function previewOf(entry: Entry): string {
  const text = fullText(entry)
    .slice(0, MAX * 2)
    .replace(/\s+/g, ' ')
  return text.length > MAX ? `${text.slice(0, MAX)}…` : text
}

function fullText(entry: Entry): string {
  switch (entry.type) {
    case 'created':
      return entry.skill
    case 'status':
      return entry.message === null ? '' : statusText(entry.message)
    case 'output':
      return typeof entry.output === 'string' ? entry.output : JSON.stringify(entry.output)
    case 'artifact':
      return `${entry.artifact.name ?? ''} ${textOf(entry.artifact) || JSON.stringify(entry.artifact.parts?.[0] ?? {})}`
    case 'message':
      return textOf(entry.message)
    case 'history':
      return entry.entry.kind === 'step'
        ? JSON.stringify(entry.entry.error ?? entry.entry.output ?? null)
        : ''
    case 'snapshot':
    case 'resync':
      return entry.task.state
  }
}

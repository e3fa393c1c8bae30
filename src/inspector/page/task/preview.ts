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
      return outputText(entry.output)
    case 'artifact':
      return artifactText(entry.artifact)
    case 'message':
      return textOf(entry.message)
    case 'journal':
      return journalText(entry.entry)
    case 'snapshot':
    case 'resync':
      return entry.task.state
  }
}

type EntryOf<T extends Entry['type']> = Extract<Entry, { readonly type: T }>

function outputText(output: EntryOf<'output'>['output']): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

function artifactText(artifact: EntryOf<'artifact'>['artifact']): string {
  return `${artifact.name ?? ''} ${textOf(artifact) || JSON.stringify(artifact.parts?.[0] ?? {})}`
}

function journalText(entry: EntryOf<'journal'>['entry']): string {
  return entry.kind === 'step' ? JSON.stringify(entry.error ?? entry.output ?? null) : ''
}

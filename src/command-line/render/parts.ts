/**
 * Parts of messages and artifacts, as text.
 *
 * @module
 */
import type { RemoteTask } from 'a2a-tasks/client'

type Artifact = RemoteTask['artifacts'][number]
type Part = Artifact['parts'][number]

const MAX_DATA = 10_000

/**
 * The texts as they are, and one line for each part of another kind.
 *
 * @param before - What is written before them, or its end.
 */
export function partsText(parts: readonly Part[], before = ''): string {
  let written = before
  for (const part of parts) {
    if (part.text !== undefined) written += part.text
    else written += `${written === '' || written.endsWith('\n') ? '' : '\n'}${partLine(part)}\n`
  }
  return written.slice(before.length)
}

/** A part that is not text: its data as JSON, or what the file is. */
function partLine({ raw, url, data, filename, mediaType }: Part): string {
  if (data !== undefined) {
    const json = JSON.stringify(data, undefined, 2)
    return json.length <= MAX_DATA ? json : `${json.slice(0, MAX_DATA)}…`
  }
  const size = raw === undefined ? undefined : `${Math.floor((raw.length * 3) / 4)} bytes`
  return `[${[filename ?? 'file', mediaType, size, url].filter((each) => each !== undefined).join(', ')}]`
}

/** The text of all artifacts, each on its own lines. */
export function artifactsText(artifacts: readonly Artifact[]): string {
  return artifacts.map(({ parts }) => partsText(parts).replace(/\n$/, '')).join('\n')
}

/**
 * Many updates as one.
 *
 * @module
 */
import { tooLarge } from '../../../http/json.js'
import type { ArtifactInput, PartInput } from '../../../core/params.js'
import type { TaskUpdate } from '../../provider.js'

/** Of all artifacts, as JSON in characters: no more than a task has room for by default. */
const MAX_SIZE = 67_108_864

/** An artifact that may go on: its parts are a list of its own. */
interface OpenArtifact extends ArtifactInput {
  readonly parts: PartInput[]
}

/**
 * What a task has come to by all of these, told at once.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED` when that is more than 64 MiB; what `updates` throws.
 */
export async function fold(updates: AsyncIterable<TaskUpdate>): Promise<TaskUpdate> {
  let folded: TaskUpdate = {}
  let size = 0
  const artifacts = new Map<string | symbol, OpenArtifact>()
  for await (const { chunk, artifacts: complete = [], ...others } of updates) {
    // A message is of the state that it came with.
    const resetMessage = others.state === undefined ? {} : { message: undefined }
    folded = { ...folded, ...resetMessage, ...others }
    for (const artifact of complete) {
      const id = artifact.artifactId ?? Symbol()
      size += sizeOf(artifact) - sizeOf(artifacts.get(id))
      artifacts.set(id, { ...artifact, parts: [...(artifact.parts ?? [])] })
    }
    if (chunk !== undefined) {
      const id = chunk.artifactId ?? Symbol()
      size += sizeOf(chunk.parts)
      artifacts.set(id, appendChunk(artifacts.get(id), chunk))
    }
    if (size > MAX_SIZE) throw tooLarge('maxArtifactsSize', MAX_SIZE, size)
  }
  return artifacts.size > 0 ? { ...folded, artifacts: [...artifacts.values()] } : folded
}

function sizeOf(json: object | undefined): number {
  return json === undefined ? 0 : JSON.stringify(json).length
}

/** Text goes on where the text before it ended. */
function appendChunk(known: OpenArtifact | undefined, chunk: ArtifactInput): OpenArtifact {
  const parts = known?.parts ?? []
  for (const part of chunk.parts ?? []) {
    const last = parts.at(-1)
    if (isPlainText(last) && isPlainText(part)) parts[parts.length - 1] = { text: last.text + part.text }
    else parts.push(part)
  }
  return { ...known, ...chunk, parts }
}

/** Text, and nothing about it. */
function isPlainText(part: PartInput | undefined): part is PartInput & { readonly text: string } {
  return typeof part?.text === 'string' && Object.keys(part).length === 1
}

/**
 * Merging of a stream of updates into one update.
 *
 * @module
 */
import { appendParts } from '../../../core/artifacts/append-parts.js'
import { tooLarge } from '../../../http/json.js'
import type { ArtifactInput, PartInput } from '../../../core/params.js'
import type { TaskUpdate } from '../../provider.js'

/** Limit for all artifacts, in characters of JSON: the default limit of a task. */
const MAX_SIZE = 67_108_864

/** An artifact with its own parts, to which chunks are appended. */
interface OpenArtifact extends ArtifactInput {
  readonly parts: PartInput[]
}

/**
 * Returns one update with the same effect as all of these.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED` when the result exceeds 64 MiB; and what `updates` throws.
 */
export async function fold(updates: AsyncIterable<TaskUpdate>): Promise<TaskUpdate> {
  let folded: TaskUpdate = {}
  let size = 0
  const artifacts = new Map<string | symbol, OpenArtifact>()
  for await (const { chunk, artifacts: complete = [], ...others } of updates) {
    // A message belongs to the state that it came with.
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

function appendChunk(known: OpenArtifact | undefined, chunk: ArtifactInput): OpenArtifact {
  const parts = known?.parts ?? []
  appendParts(parts, chunk.parts ?? [])
  return { ...known, ...chunk, parts }
}

/**
 * Many updates as one.
 *
 * @module
 */
import type { ArtifactInput, PartInput } from '../../core/params.js'
import type { TaskUpdate } from '../provider.js'

/** What a task has come to by all of these, told at once. */
export async function fold(updates: AsyncIterable<TaskUpdate>): Promise<TaskUpdate> {
  let folded: TaskUpdate = {}
  const artifacts = new Map<string | symbol, ArtifactInput>()
  for await (const { chunk, artifacts: whole = [], ...others } of updates) {
    // A message is of the state that it came with.
    const said = others.state === undefined ? {} : { message: undefined }
    folded = { ...folded, ...said, ...others }
    for (const artifact of whole) artifacts.set(artifact.artifactId ?? Symbol(), artifact)
    if (chunk !== undefined) {
      const id = chunk.artifactId ?? Symbol()
      artifacts.set(id, continued(artifacts.get(id), chunk))
    }
  }
  return artifacts.size > 0 ? { ...folded, artifacts: [...artifacts.values()] } : folded
}

/** Text goes on where the text before it ended. */
function continued(known: ArtifactInput = {}, chunk: ArtifactInput): ArtifactInput {
  const parts = [...(known.parts ?? [])]
  for (const part of chunk.parts ?? []) {
    const last = parts.at(-1)
    if (isText(last) && isText(part)) parts[parts.length - 1] = { text: last.text + part.text }
    else parts.push(part)
  }
  return { ...known, ...chunk, parts }
}

/** Text, and nothing about it. */
function isText(part: PartInput | undefined): part is PartInput & { readonly text: string } {
  return typeof part?.text === 'string' && Object.keys(part).length === 1
}

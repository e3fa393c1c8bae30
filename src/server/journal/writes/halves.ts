/**
 * Characters that chunks of an artifact cut in two. UTF-8 cannot hold half of one, and models are cut by tokens.
 *
 * @module
 */
import type { AppendArtifactOptions, ArtifactInput, PartInput } from '../../../core/params.js'

type TextInput = PartInput & { readonly text: string }

export type Chunk = ArtifactInput & { readonly artifactId: string }

/** What a manager makes of each half. */
const REPLACEMENT = '\ufffd'

/**
 * The halves at the ends of the chunks that one step writes, or the code outside of steps. Each waits for the next chunk of its
 * artifact.
 *
 * A replay does not do the work of a step again. So a step neither takes a half that waited before it, nor leaves one.
 */
export class Halves {
  /** By artifact. Each has the other fields of the part that it ended. Most texts are cut nowhere. */
  #waiting: Map<string, TextInput> | undefined

  /** The chunk to write in place of `chunk`: with the half that waited, and without the one that waits now. */
  take(chunk: Chunk, { append, lastChunk }: AppendArtifactOptions = {}): Chunk {
    const { artifactId, parts = [] } = chunk
    const half = append === false ? undefined : this.#waiting?.get(artifactId)
    this.#waiting?.delete(artifactId)
    const whole = half === undefined ? parts : afterHalf(half, parts)
    const last = whole.at(-1)
    if (lastChunk === true || !endsInHalf(last)) return whole === parts ? chunk : { ...chunk, parts: whole }
    this.#waiting ??= new Map()
    this.#waiting.set(artifactId, { ...last, text: last.text.slice(-1) })
    return { ...chunk, parts: [...whole.slice(0, -1), { ...last, text: last.text.slice(0, -1) }] }
  }

  /** Nothing more is written: what stays alone becomes U+FFFD. Returns the chunks to write. */
  end(): readonly Chunk[] {
    const halves = [...(this.#waiting ?? [])]
    this.#waiting = undefined
    return halves.map(([artifactId, half]) => ({ artifactId, parts: [{ ...half, text: REPLACEMENT }] }))
  }
}

function afterHalf(half: TextInput, [first, ...others]: readonly PartInput[]): readonly PartInput[] {
  if (isText(first)) return [{ ...first, text: half.text + first.text }, ...others]
  return [
    { ...half, text: first === undefined ? half.text : REPLACEMENT },
    ...(first ? [first] : []),
    ...others,
  ]
}

function endsInHalf(part: PartInput | undefined): part is TextInput {
  return isText(part) && /[\ud800-\udbff]$/.test(part.text.slice(-1))
}

/** Code may pass anything. */
function isText(part: PartInput | undefined): part is TextInput {
  return typeof part?.text === 'string'
}

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

/** By artifact. Each has the other fields of the part that it ended. */
type Waiting = Map<string, TextInput>

/**
 * The halves at the ends of chunks. Each waits for the next chunk of its artifact. What stays alone becomes U+FFFD.
 *
 * A replay does not do the work of a step again. So a step neither takes a half that waited before it, nor leaves one.
 */
export class Halves {
  readonly #write: (chunk: Chunk) => void
  readonly #outside: Waiting = new Map()
  /** Of the steps under way, the latest one last. */
  readonly #steps: Waiting[] = []

  /** @param write - Adds a chunk to the task. */
  constructor(write: (chunk: Chunk) => void) {
    this.#write = write
  }

  /** The chunk to write in place of `chunk`: with the half that waited, and without the one that waits now. */
  take(chunk: Chunk, { append, lastChunk }: AppendArtifactOptions = {}): Chunk {
    const { artifactId, parts = [] } = chunk
    const waiting = this.#steps.at(-1) ?? this.#outside
    const half = append === false ? undefined : waiting.get(artifactId)
    waiting.delete(artifactId)
    const whole = half === undefined ? parts : afterHalf(half, parts)
    const last = whole.at(-1)
    if (lastChunk === true || !endsInHalf(last)) return whole === parts ? chunk : { ...chunk, parts: whole }
    waiting.set(artifactId, { ...last, text: last.text.slice(-1) })
    return { ...chunk, parts: [...whole.slice(0, -1), { ...last, text: last.text.slice(0, -1) }] }
  }

  /** Does the work of a step. */
  async within<T>(work: () => T | Promise<T>): Promise<T> {
    const own: Waiting = new Map()
    this.#steps.push(own)
    try {
      return await work()
    } finally {
      this.#steps.splice(this.#steps.indexOf(own), 1)
      this.#end(own)
    }
  }

  /** Nothing more is written: no half waits any longer. */
  end(): void {
    for (const waiting of [this.#outside, ...this.#steps]) this.#end(waiting)
  }

  #end(waiting: Waiting): void {
    const halves = [...waiting]
    waiting.clear()
    for (const [artifactId, half] of halves)
      this.#write({ artifactId, parts: [{ ...half, text: REPLACEMENT }] })
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

/**
 * Artifacts that an attempt which did not finish has written: what they held before it.
 *
 * @module
 */
import { appendParts } from '../../core/artifacts/append-parts.js'
import type { AppendArtifactOptions, ArtifactInput } from '../../core/params.js'
import type { Artifact, DeepReadonly } from '../../core/task.js'

type Base = DeepReadonly<Artifact> | undefined

/**
 * The first write of the next attempt to such an artifact replaces it by what it held before, with the new chunk. So no client
 * sees a chunk twice.
 */
export class ArtifactBases {
  readonly #bases: Map<string, Base>

  /** @param bases - By artifact id: the artifact before the unfinished attempt; `undefined` for one that it created. */
  constructor(bases: ReadonlyMap<string, Base> = new Map()) {
    this.#bases = new Map(bases)
  }

  /** The artifacts as the next writes continue them: without what the unfinished attempt has written. */
  continued(artifacts: readonly DeepReadonly<Artifact>[]): readonly DeepReadonly<Artifact>[] {
    return artifacts.flatMap((artifact) => {
      const { artifactId } = artifact
      if (artifactId === undefined || !this.#bases.has(artifactId)) return [artifact]
      const base = this.#bases.get(artifactId)
      return base === undefined ? [] : [base]
    })
  }

  /** Restores what an attempt of a step has changed since `before`, which {@link continued} returned. */
  restore(before: readonly DeepReadonly<Artifact>[], after: readonly DeepReadonly<Artifact>[]): void {
    const known = new Map(before.map((artifact) => [artifact.artifactId, artifact]))
    for (const artifact of after) {
      const { artifactId } = artifact
      if (artifactId === undefined || this.#bases.has(artifactId)) continue
      const base = known.get(artifactId)
      if (base !== artifact) this.#bases.set(artifactId, base)
    }
  }

  /** The write to make for `artifact`. */
  rewrite(
    artifact: ArtifactInput,
    options: AppendArtifactOptions | undefined,
  ): { readonly artifact: ArtifactInput; readonly options: AppendArtifactOptions | undefined } {
    const { artifactId } = artifact
    if (artifactId === undefined || !this.#bases.has(artifactId)) return { artifact, options }
    const base = this.#bases.get(artifactId)
    this.#bases.delete(artifactId)
    const replacing = { ...options, append: false }
    if (base === undefined || options?.append === false) return { artifact, options: replacing }
    const parts = [...(base.parts ?? [])]
    appendParts(parts, artifact.parts ?? [])
    const metadata = { ...base.metadata, ...artifact.metadata }
    const hasMetadata = Object.keys(metadata).length > 0
    return {
      artifact: { ...base, ...artifact, parts, ...(hasMetadata && { metadata }) },
      options: replacing,
    }
  }
}

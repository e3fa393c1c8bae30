/**
 * The objects that agents send, as the protocol has them. Nothing has checked them: a check that reads through a field that is missing, or of
 * another type, throws, and that counts as its failure.
 */

export interface WirePart {
  readonly text?: string
}

export interface WireMessage {
  readonly messageId?: string
  readonly role?: string
  readonly parts?: readonly WirePart[]
  /** The parts in ProtoJSON of 0.3. */
  readonly content?: readonly WirePart[]
  readonly kind?: string
}

export interface WireArtifact {
  readonly artifactId?: string
  readonly parts?: readonly WirePart[]
  readonly content?: readonly WirePart[]
}

export interface WireStatus {
  readonly state?: string
  readonly message?: WireMessage
  /** The message in ProtoJSON of 0.3. */
  readonly update?: WireMessage
  readonly timestamp?: string
}

export interface WireTask {
  readonly id: string
  readonly contextId: string
  readonly status: WireStatus
  readonly artifacts?: readonly WireArtifact[]
  readonly history?: readonly WireMessage[]
  readonly kind?: string
  /** What a body that names prototypes must not set. */
  readonly polluted?: unknown
}

export interface WireConfig {
  readonly id?: string | undefined
  readonly url?: string | undefined
  readonly pushNotificationConfig?: WireConfig
}

export interface WireErrorInfo {
  readonly '@type'?: string
  readonly reason?: string
  readonly domain?: string
}

export interface WireError {
  readonly code?: number
  readonly message?: unknown
  readonly status?: unknown
  readonly data?: unknown
  readonly details?: readonly WireErrorInfo[]
}

/** Any result, and the envelope of any answer. */
export interface WireBody extends Partial<WireTask>, WireConfig, WireMessage {
  readonly id?: string
  readonly kind?: string
  readonly jsonrpc?: string
  readonly result?: WireBody | null
  readonly error?: WireError | null
  readonly code?: number
  readonly task?: WireTask
  readonly message?: WireMessage
  readonly statusUpdate?: WireUpdate
  readonly artifactUpdate?: WireUpdate
  readonly tasks?: readonly WireTask[]
  readonly nextPageToken?: string
  readonly pageSize?: number
  readonly totalSize?: number
  readonly configs?: readonly WireConfig[]
}

/** An update of a status or of an artifact. */
export interface WireUpdate {
  readonly taskId?: string
  readonly contextId?: string
  readonly status?: WireStatus
  readonly final?: boolean
  readonly artifact?: WireArtifact
  readonly append?: boolean
  readonly lastChunk?: boolean
}

export interface WireInterface {
  readonly url: string
  readonly protocolBinding?: string
  readonly protocolVersion?: string
  readonly tenant?: string
}

/** A card of 1.0, of 0.3, or of both. */
export interface WireCard {
  readonly supportedInterfaces?: readonly WireInterface[]
  readonly url?: string
  readonly preferredTransport?: string
  readonly protocolVersion?: string
  readonly additionalInterfaces?: readonly { readonly url: string; readonly transport: string }[]
  readonly capabilities?: {
    readonly streaming?: boolean
    readonly pushNotifications?: boolean
    readonly extendedAgentCard?: boolean
  }
  readonly skills?: readonly object[]
}

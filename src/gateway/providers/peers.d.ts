/**
 * Types of the used part of optional packages, which may not be installed at build time.
 *
 * @module
 */
declare module '@azure/identity' {
  export class DefaultAzureCredential {
    getToken(scope: string): Promise<{ readonly token: string } | null>
  }
}

declare module 'google-auth-library' {
  export class GoogleAuth {
    constructor(options: { readonly scopes: string })
    getAccessToken(): Promise<string | null | undefined>
  }
}

declare module '@aws-sdk/client-bedrock-agent-runtime' {
  interface Configuration {
    readonly region: string
    readonly endpoint: string
    readonly maxAttempts: number
  }
  export const BedrockAgentRuntime: new (configuration: Configuration) => object
}

declare module '@aws-sdk/client-bedrock-agentcore' {
  interface Configuration {
    readonly region: string
    readonly endpoint: string
    readonly maxAttempts: number
  }
  export const BedrockAgentCore: new (configuration: Configuration) => object
}

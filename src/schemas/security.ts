/**
 * How an agent wants its callers to authenticate.
 *
 * @module
 */
import * as z from 'zod'
import { exactlyOneOf } from './one-of.js'
import { nonEmptyString, optional, strings } from './scalars.js'

const description = optional(z.string())
const refreshUrl = optional(nonEmptyString)
const scopes = z.record(z.string(), z.string())

/** A2A 1.0 §4.5.7. Nothing is required of the two deprecated flows, `implicit` and `password`. */
export const OAuthFlowsSchema = exactlyOneOf(
  z.object({
    authorizationCode: optional(
      z.object({
        authorizationUrl: nonEmptyString,
        tokenUrl: nonEmptyString,
        refreshUrl,
        scopes,
        pkceRequired: optional(z.boolean()),
      }),
    ),
    clientCredentials: optional(z.object({ tokenUrl: nonEmptyString, refreshUrl, scopes })),
    implicit: optional(
      z.object({ authorizationUrl: optional(nonEmptyString), refreshUrl, scopes: optional(scopes) }),
    ),
    password: optional(
      z.object({ tokenUrl: optional(nonEmptyString), refreshUrl, scopes: optional(scopes) }),
    ),
    deviceCode: optional(
      z.object({ deviceAuthorizationUrl: nonEmptyString, tokenUrl: nonEmptyString, refreshUrl, scopes }),
    ),
  }),
  ['authorizationCode', 'clientCredentials', 'implicit', 'password', 'deviceCode'],
)
export type OAuthFlows = z.infer<typeof OAuthFlowsSchema>

/** A2A 1.0 §4.5.1. */
export const SecuritySchemeSchema = exactlyOneOf(
  z.object({
    apiKeySecurityScheme: optional(
      z.object({ description, location: z.enum(['query', 'header', 'cookie']), name: nonEmptyString }),
    ),
    httpAuthSecurityScheme: optional(
      z.object({ description, scheme: nonEmptyString, bearerFormat: optional(z.string()) }),
    ),
    oauth2SecurityScheme: optional(
      z.object({ description, flows: OAuthFlowsSchema, oauth2MetadataUrl: optional(nonEmptyString) }),
    ),
    openIdConnectSecurityScheme: optional(z.object({ description, openIdConnectUrl: nonEmptyString })),
    mtlsSecurityScheme: optional(z.object({ description })),
  }),
  [
    'apiKeySecurityScheme',
    'httpAuthSecurityScheme',
    'oauth2SecurityScheme',
    'openIdConnectSecurityScheme',
    'mtlsSecurityScheme',
  ],
)
export type SecurityScheme = z.infer<typeof SecuritySchemeSchema>

/** The scopes needed of each scheme (A2A 1.0 §4.5). Nothing is required: what is empty may be left out. */
export const SecurityRequirementSchema = z.object({
  schemes: optional(z.record(z.string(), z.object({ list: optional(strings) }))),
})
export type SecurityRequirement = z.infer<typeof SecurityRequirementSchema>

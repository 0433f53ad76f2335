import { z } from 'zod';
import { Behavior, type Mode } from './permission.ts';

/** Where a change of permissions is to hold: in this job alone, or also in a settings file and so in later ones. */
export const Destination = z.enum(['session', 'localSettings', 'projectSettings', 'userSettings']);
export type Destination = z.infer<typeof Destination>;

const ofRules = {
  rules: z.array(z.object({ toolName: z.string().min(1), ruleContent: z.string().nullish() })),
  behavior: Behavior,
  destination: Destination,
};
const ofFolders = { directories: z.array(z.string().min(1)), destination: Destination };

/** One change of permissions that a hook asks for when it answers in place of a person. */
export const PermissionUpdate = z.discriminatedUnion('type', [
  z.object({ type: z.literal('addRules'), ...ofRules }),
  z.object({ type: z.literal('replaceRules'), ...ofRules }),
  z.object({ type: z.literal('removeRules'), ...ofRules }),
  z.object({ type: z.literal('setMode'), mode: z.string(), destination: Destination }),
  z.object({ type: z.literal('addDirectories'), ...ofFolders }),
  z.object({ type: z.literal('removeDirectories'), ...ofFolders }),
]);
export type PermissionUpdate = z.infer<typeof PermissionUpdate>;

/** A change of the `permissions` of a settings file. */
export type SettingsChange =
  | { kind: 'add' | 'remove' | 'replace'; list: Behavior | 'additionalDirectories'; values: string[] }
  | { kind: 'mode'; mode: Mode };

import ipaddr from 'ipaddr.js';
import type { ConnectorConfig } from '../types.ts';
import type { Settings } from '../settings.ts';
import type { SettingRisk } from './risk.ts';

const isHere = (url: URL): boolean => /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/u.test(url.hostname);

/** Networks that hold a part of the internet, whatever they are meant for. */
const isWide = (network: string): boolean => {
  if (!network.includes('/')) return false;
  const [address, bits] = ipaddr.parseCIDR(network);
  return bits < (address.kind() === 'ipv4' ? 8 : 7);
};

/** Headers that every client or proxy sets, to something that is not a role. */
const OTHER_HEADERS =
  /^(?:accept(?:-.*)?|authorization|connection|content-.*|cookie|forwarded|host|origin|referer|sec-.*|te|transfer-encoding|upgrade|user-agent|via|x-forwarded-(?:for|host|port|prefix|proto|server)|x-real-ip)$/iu;

const proxyRisks = ({ auth, trustedProxies }: Settings): readonly SettingRisk[] => {
  const risks: SettingRisk[] = [];
  const wide = (auth?.from ?? []).filter(isWide);
  if (wide.length > 0)
    risks.push({
      key: 'auth.from',
      text: `has ${wide.join(', ')}: clients of these networks, and so of the internet, name their own role`,
      fix: 'List the addresses of the proxies alone: ["127.0.0.1"].',
    });
  if (auth?.header !== undefined && OTHER_HEADERS.test(auth.header))
    risks.push({
      key: 'auth.header',
      text: `is "${auth.header}", which clients send with every request for another purpose`,
      fix: 'Let the proxy set a header of its own: "X-Role".',
    });
  const anybody = trustedProxies.filter(isWide);
  if (anybody.length > 0)
    risks.push({
      key: 'trustedProxies',
      text: `has ${anybody.join(', ')}: every client chooses the address that it is counted by`,
      fix: 'List the addresses of the proxies alone: ["127.0.0.1"].',
    });
  return risks;
};

const limitRisks = ({ auth, trustedProxies, rateLimits }: Settings): readonly SettingRisk[] =>
  rateLimits === undefined || auth?.header === undefined || trustedProxies.length > 0
    ? []
    : [
        {
          key: 'trustedProxies',
          text: 'is empty: behind the proxy of auth all visitors are one client, who share the rateLimits',
          fix: `Write "trustedProxies": ${JSON.stringify(auth.from)}.`,
        },
      ];

const addressRisks = ({ publicUrl, webhooks }: Settings): readonly SettingRisk[] => {
  const isPlain = (text: string): boolean => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    return url?.protocol === 'http:' && !isHere(url);
  };
  return [
    ...(publicUrl !== undefined && isPlain(publicUrl)
      ? [
          {
            key: 'publicUrl',
            text: 'is not https: browsers block its pictures on https pages, and documents keep the address',
            fix: 'Write the https address, or only its path: "/connector/".',
          },
        ]
      : []),
    ...webhooks.flatMap(({ url, allowPrivate }, index) =>
      isPlain(url) && !allowPrivate
        ? [
            {
              key: `webhooks.${String(index)}.url`,
              text: 'is not https: names of files and users can be read on the way',
              fix: 'Write an https address.',
            },
          ]
        : [],
    ),
  ];
};

const originRisks = ({ allowCrossOrigin, allowedOrigins }: Settings): readonly SettingRisk[] =>
  allowCrossOrigin || allowedOrigins === null || allowedOrigins.length === 0
    ? []
    : [
        {
          key: 'allowedOrigins',
          text: 'has no effect while allowCrossOrigin is off: pages of these origins cannot use the service',
          fix: 'Write "allowCrossOrigin": true.',
        },
      ];

/** Sources whose files everybody gets, because nothing asks who it is. */
const protectedRisks = ({ sources }: ConnectorConfig, hasLogin: boolean): readonly SettingRisk[] =>
  hasLogin
    ? []
    : sources
        .filter(({ settings }) => settings.serve === 'protected')
        .map(({ key }) => ({
          key: `sources.${key}.serve`,
          text: 'is "protected", and no login is configured: everybody has the default role',
          fix: 'Set auth or a checkAuthentication hook, or write "public".',
        }));

/** What is risky about the service as a whole. */
export const serviceRisks = (config: ConnectorConfig, hasLogin: boolean): readonly SettingRisk[] => [
  ...proxyRisks(config.settings),
  ...limitRisks(config.settings),
  ...addressRisks(config.settings),
  ...originRisks(config.settings),
  ...protectedRisks(config, hasLogin),
];

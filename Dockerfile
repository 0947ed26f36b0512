# The service in a container of its own; docs/containers.md explains it.

FROM node:22-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY packages ./packages
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.base.json ./
COPY scripts/build.mjs scripts/client-types.mjs scripts/document-types.mjs ./scripts/
RUN npm run build

FROM node:22-slim AS packages
# Optional packages, in the versions that this one is tested with.
ARG PACKAGES="@aws-sdk/client-s3 @aws-sdk/s3-request-presigner docx jose parse5 puppeteer-core"
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/stowage/package.json ./packages/stowage/
COPY packages/browser/package.json ./packages/browser/
# What only tests need stays away; the lock file still says which versions those are.
RUN node -e 'const [workspace, own] = ["/app", "/app/packages/stowage"].map((folder) => require(`${folder}/package.json`)); \
    const wanted = process.argv.slice(1); \
    const known = Object.keys(own.peerDependencies); \
    const unknown = wanted.filter((name) => !known.includes(name)); \
    if (unknown.length > 0) throw new Error(`PACKAGES names ${unknown.join(", ")}; known are ${known.join(", ")}`); \
    for (const name of wanted) own.dependencies[name] = workspace.devDependencies[name] ?? own.peerDependencies[name]; \
    delete workspace.devDependencies; \
    fs.writeFileSync("/app/package.json", JSON.stringify(workspace)); \
    fs.writeFileSync("/app/packages/stowage/package.json", JSON.stringify(own));' ${PACKAGES} \
  && npm install --omit=dev --no-audit --no-fund

FROM node:22-slim
# Set to anything for PDF files: a browser and fonts that documents are measured with.
ARG CHROMIUM=""
# hadolint ignore=DL3008
RUN if [ -n "${CHROMIUM}" ]; then \
    apt-get update \
    && apt-get install -y --no-install-recommends chromium-headless-shell fonts-liberation fonts-dejavu-core \
    && rm -rf /var/lib/apt/lists/*; \
  fi
# Debian packages of programs that draw thumbnails of PDF files and videos: "poppler-utils ffmpeg".
ARG PROGRAMS=""
# hadolint ignore=DL3008,SC2086
RUN if [ -n "${PROGRAMS}" ]; then \
    apt-get update \
    && apt-get install -y --no-install-recommends ${PROGRAMS} \
    && rm -rf /var/lib/apt/lists/*; \
  fi
RUN groupadd --system --gid 10001 stowage \
  && useradd --system --uid 10001 --gid stowage --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin stowage \
  && install -d -o stowage -g stowage /data /app/.compiled
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /src/packages/stowage ./packages/stowage
COPY --from=build /src/packages/browser ./packages/browser
COPY LICENSE ./
# The allocator of glibc would otherwise keep memory that threads have freed while they decode pictures.
ENV MALLOC_ARENA_MAX=2
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8081 CONFIG_FILE=/etc/stowage/stowage.json NODE_COMPILE_CACHE=/app/.compiled
# A number, so that a cluster can see that it is not root.
USER 10001:10001
# Compiles the code now, for this user and version of Node.js: containers then start with a quarter less work.
RUN CONFIG='{"sources":{"data":{"title":"Data","root":"/data","serve":"public"}}}' \
  node /app/packages/stowage/dist/cli.js check-config \
  && chmod -R a-w /app/.compiled
VOLUME /data
EXPOSE 8081
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9081/live').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/packages/stowage/dist/cli.js"]
CMD ["serve", "--health-port", "9081"]

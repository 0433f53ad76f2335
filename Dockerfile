FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:22-bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends bash ca-certificates git tini util-linux \
  && rm -rf /var/lib/apt/lists/* \
  && mkdir -p /home/node/state /work && chown node:node /home/node/state /work
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY deploy/keep.sh /usr/local/bin/keep
RUN ln -s /app/dist/src/app/cli.js /usr/local/bin/nightshift && chmod +x /usr/local/bin/keep
USER node
VOLUME /home/node/state
ENTRYPOINT ["tini", "--"]
CMD ["keep"]

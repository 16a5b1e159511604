FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY config ./config
COPY src ./src
RUN npm run build && npm prune --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production MUSETTE_DATA_DIR=/data MUSETTE_HTTP=off
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY drizzle ./drizzle
COPY package.json LICENSE ./
RUN ln -s /app/dist/main.js /usr/local/bin/musette && chmod +x dist/main.js \
  && mkdir /data && chown node:node /data
USER node
VOLUME /data
# The database is brought to this version first; with several containers the first one does it and the rest wait.
CMD ["sh", "-c", "musette migrate && exec musette start"]
